package replay

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/dialects"
	"github.com/switchback-geo/switchback/internal/proof"
	"github.com/switchback-geo/switchback/internal/replay/plan"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/envelope"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

func TestReinjected_carries_the_lists(t *testing.T) {
	t.Parallel()
	headers := []kgo.RecordHeader{{Key: "ce_id", Value: []byte("1")}, {Key: "switchback-of-tomorrow", Value: []byte("x")}}
	c := controlOf(1, "a", "v")
	c.ReplayID, c.ReplayCount, c.Sequence, c.Generation = "old", 3, 7, 1
	c.Part, c.PartVersion, c.Remaining = header.Part{Index: 17, Of: 230}, new(int64(5)), &header.Remaining{Of: 3, Open: []int{1}}
	l := deadletters.Decode(&kgo.Record{Topic: "features.dlq", Partition: 1, Key: []byte{}, Value: []byte("v"), Headers: c.AppendTo(headers)}, true)
	for name, want := range map[bool][]string{
		false: append(slices.Concat(KeptHeaders(), SetHeaders()), "ce_id"),
		true:  append(slices.Concat(KeptHeaders(), SetHeaders(), ForceHeaders()), "ce_id"),
	} {
		t.Run(fmt.Sprintf("force=%v", name), func(t *testing.T) {
			r := destination{topic: "features"}.reinjected(newHeaderRules(config.ReplayerHeaders{Keep: []string{"*"}}), "new", &l, name)
			proof.Random().Sign(r)
			carries(t, r, want)
		})
	}
}

func carries(t *testing.T, r *kgo.Record, want []string) {
	t.Helper()
	var got []string
	for _, h := range r.Headers {
		got = append(got, h.Key)
		expect.That(t, (h.Key != "switchback-replay-id" || string(h.Value) == "new") && (h.Key != "switchback-replay-count" || string(h.Value) == "4"),
			"%s is %s", h.Key, h.Value)
	}
	slices.Sort(got)
	slices.Sort(want)
	expect.That(t, slices.Equal(got, want), "got  %v\nwant %v", got, want)
	expect.That(t, r.Key != nil && len(r.Key) == 0, "an empty key became %v", r.Key)
}

// Whatever made the letter, what it wrote stays behind and what the producer wrote goes back, as it came.
func TestHeaderRules_S4_8_what_goes_back(t *testing.T) {
	t.Parallel()
	all := []string{"*"}
	for name, c := range map[string]struct {
		rules   config.ReplayerHeaders
		dialect dialects.Dialect
		in, out string
	}{
		"all of the producer's, in order, doubled": {config.ReplayerHeaders{Keep: all}, dialects.Native, "b a switchback-due a traceparent b", "b a a traceparent b"},
		"control headers never":                    {config.ReplayerHeaders{Keep: []string{"*", "s*"}}, dialects.Unknown, "switchback-due switchback-of-tomorrow s", "s"},
		"none":                                     {config.ReplayerHeaders{}, dialects.Native, "a b", ""},
		"some":                                     {config.ReplayerHeaders{Keep: []string{"ce_*", "traceparent"}}, dialects.Native, "ce_id traceparent tracestate xce_id ce_", "ce_id traceparent ce_"},
		"strip wins":                               {config.ReplayerHeaders{Keep: []string{"*", "x-debug-1"}, Strip: []string{"x-debug-*", "b"}}, dialects.Native, "a x-debug-1 b bb x-debug-", "a bb"},
		"a star in the middle":                     {config.ReplayerHeaders{Keep: []string{"a*c*e"}}, dialects.Native, "ace abcde abcd aXcXe", "ace abcde aXcXe"},
		"other signs are themselves":               {config.ReplayerHeaders{Keep: all, Strip: []string{"a.b", "c[d]*"}}, dialects.Native, "a.b axb c[d]e cde", "axb cde"},
		"of ours, others' are the producer's":      {config.ReplayerHeaders{Keep: all}, dialects.Native, "kafka_dlt-original-topic __connect.errors.topic", "kafka_dlt-original-topic __connect.errors.topic"},
		"spring":                                   {config.ReplayerHeaders{Keep: all}, dialects.Spring, "id kafka_dlt-original-topic kafka_dlt-original-topic id kafka_timestampType", "id id kafka_timestampType"},
		"spring-retry":                             {config.ReplayerHeaders{Keep: all}, dialects.SpringRetry, "retry_topic-attempts kafka_original-topic kafka_exception-fqcn a", "a"},
		"connect":                                  {config.ReplayerHeaders{Keep: all}, dialects.Connect, "a __connect.errors.topic b", "a b"},
		"streams":                                  {config.ReplayerHeaders{Keep: all}, dialects.Streams, "__streams.errors.exception a", "a"},
		"smallrye":                                 {config.ReplayerHeaders{Keep: all}, dialects.SmallRye, "dead-letter-reason a dead-letter-reason delayed-retry-count", "a"},
		"share-group":                              {config.ReplayerHeaders{Keep: all}, dialects.ShareGroup, "a __dlq.errors.group", "a"},
		"karafka":                                  {config.ReplayerHeaders{Keep: all}, dialects.Karafka, "source_topic source_system a", "a"},
		"karafka, with a name of the producer's":   {config.ReplayerHeaders{Keep: []string{"*", "source_system"}}, dialects.Karafka, "source_topic source_system a", "source_system a"},
		"a pattern is no name":                     {config.ReplayerHeaders{Keep: []string{"source_*"}}, dialects.Karafka, "source_topic source_system", ""},
		"of nobody known":                          {config.ReplayerHeaders{Keep: all}, dialects.Unknown, "a kafka_dlt-original-topic", "a kafka_dlt-original-topic"},
	} {
		t.Run(name, func(t *testing.T) {
			var in []kgo.RecordHeader
			for i, key := range strings.Fields(c.in) {
				in = append(in, kgo.RecordHeader{Key: key, Value: []byte{byte(i)}})
			}
			before := slices.Clone(in)
			var got []string
			last := -1
			for _, h := range newHeaderRules(c.rules).back(c.dialect, in) {
				got = append(got, h.Key)
				expect.That(t, int(h.Value[0]) > last && in[h.Value[0]].Key == h.Key, "header %s has another's value, or another place", h.Key)
				last = int(h.Value[0])
			}
			expect.That(t, slices.Equal(got, strings.Fields(c.out)), "got %v, want %s", got, c.out)
			expect.That(t, reflect.DeepEqual(in, before), "the dead letter's own headers were changed")
		})
	}
}

// foreign is a letter as Kafka Connect writes it, of the source topic of the tests.
func foreign(id, value string, more ...kgo.RecordHeader) *kgo.Record {
	headers := []kgo.RecordHeader{{Key: "tag", Value: []byte("one")}}
	for key, value := range map[string]string{"topic": "features", "partition": "1", "offset": "40", "connector.name": "sink", "exception.message": "boom"} {
		headers = append(headers, kgo.RecordHeader{Key: "__connect.errors." + key, Value: []byte(value)})
	}
	return &kgo.Record{
		Topic: "features.dlq", Partition: 1, Key: []byte("key of " + id), Value: []byte(value), Timestamp: start.Add(-time.Hour),
		Headers: append(append(headers, kgo.RecordHeader{Key: "tag", Value: []byte("two")}), more...),
	}
}

// S4-8: a letter of other software goes back as its producer sent it; what the pipeline file strips stays behind too, and
// the dry run looks at the letter without it.
func TestExecute_S4_8_headers_go_back_by_the_rules(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.cfg.Source.Format = envelope.Auto
	w.cfg.Replayer.Headers.Strip = []string{"content-type"}
	w.die(foreign("a", fmt.Sprintf(square, "a"), kgo.RecordHeader{Key: "content-type", Value: []byte("application/avro")}))
	s := w.service()
	p := w.plan(s, deadletters.Filter{})
	if got := p.Summary(); got.WouldPass != 1 {
		t.Errorf("the dry run goes by a header that stays behind: %+v", got)
	}
	r := w.execute(s, p)
	must.That(t, r.Reinjected == 1, "%+v", r)
	var got []string
	for _, h := range w.read("features")[0].Headers {
		if !header.IsControl(h.Key) {
			got = append(got, h.Key+"="+string(h.Value))
		}
	}
	expect.That(t, slices.Equal(got, []string{"tag=one", "tag=two"}), "went back with %q", got)
}

// A share group that copies no records leaves a pointer; sent as it is, it would be a tombstone.
func TestPlan_leaves_pointers_without_a_value(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	pointer := &kgo.Record{Topic: "features.dlq", Timestamp: start}
	for key, value := range map[string]string{"topic": "features", "partition": "0", "offset": "7", "group": "share-1"} {
		pointer.Headers = append(pointer.Headers, kgo.RecordHeader{Key: "__dlq.errors." + key, Value: []byte(value)})
	}
	w.die(pointer)
	got := w.letters(w.plan(w.service(), deadletters.Filter{}))
	expect.That(t, len(got) == 1 && got[0].Do == plan.Leave && strings.Contains(got[0].Why, "would delete the feature"), "%+v", got)
}
