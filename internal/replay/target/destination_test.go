package target

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
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

func TestReinjected_carries_the_lists(t *testing.T) {
	t.Parallel()
	headers := []kgo.RecordHeader{{Key: "ce_id", Value: []byte("1")}, {Key: "switchback-of-tomorrow", Value: []byte("x")}}
	c := controlOf(1, "a", "v")
	c.ReplayID, c.ReplayCount, c.Sequence, c.Generation = "old", 3, 7, 1
	c.Part, c.PartVersion, c.Remaining = header.Part{Index: 17, Of: 230}, new(int64(5)), &header.Remaining{Of: 3, Open: []int{1}}
	l := deadletters.Decode(&kgo.Record{Topic: "features.dlq", Partition: 1, Key: []byte{}, Value: []byte("v"), Headers: c.AppendTo(headers)}, true)
	carried := []string{
		"ce_id", header.KeySource, header.KeyGeneration, header.KeySourceTimestamp, header.KeyLineage, header.KeyCare, header.KeySovereignty,
		header.KeyPart, header.KeyPartVersion, header.KeyRemaining,
		header.KeyReplayID, header.KeyReplayCount, header.KeyDeadLetterID, header.KeyContentHash, header.KeyReplayProof,
	}
	for name, want := range map[bool][]string{false: carried, true: append(slices.Clone(carried), header.KeyForceVersion)} {
		t.Run(fmt.Sprintf("force=%v", name), func(t *testing.T) {
			r := Destination{topic: "features"}.Reinjected(NewHeaderRules(config.ReplayerHeaders{Keep: []string{"*"}}), "new", &l, name)
			proof.Random().Sign(r)
			carries(t, r, want)
		})
	}
}

// carries fails unless a record has these headers, in any order.
func carries(t *testing.T, r *kgo.Record, want []string) {
	t.Helper()
	var got []string
	for _, h := range r.Headers {
		got = append(got, h.Key)
		expect.That(t, (h.Key != "switchback-replay-id" || string(h.Value) == "new") && (h.Key != "switchback-replay-count" || string(h.Value) == "4"), "%s is %s", h.Key, h.Value)
	}
	slices.Sort(got)
	slices.Sort(want)
	expect.That(t, slices.Equal(got, want), "got  %v\nwant %v", got, want)
	expect.That(t, r.Key != nil && len(r.Key) == 0, "an empty key became %v", r.Key)
}

// The headers of the software that wrote a dead letter stay behind. Those of the producer go back in their order.
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
		var in []kgo.RecordHeader
		for i, key := range strings.Fields(c.in) {
			in = append(in, kgo.RecordHeader{Key: key, Value: []byte{byte(i)}})
		}
		before := slices.Clone(in)
		var got []string
		last := -1
		for _, h := range NewHeaderRules(c.rules).Apply(c.dialect, in) {
			got = append(got, h.Key)
			expect.That(t, int(h.Value[0]) > last && in[h.Value[0]].Key == h.Key, "%s: header %s has another's value, or another place", name, h.Key)
			last = int(h.Value[0])
		}
		expect.That(t, slices.Equal(got, strings.Fields(c.out)), "%s: got %v, want %s", name, got, c.out)
		expect.That(t, reflect.DeepEqual(in, before), "%s: the dead letter's own headers were changed", name)
	}
}

// controlOf returns the control headers of a dead letter.
func controlOf(partition int32, id, value string) header.Control {
	died := time.Date(2026, 11, 3, 12, 0, 0, 0, time.UTC)
	return header.Control{
		Attempt: 1, MaxAttempts: 5, FirstFailedAt: died, FailedAt: died, SourceTimestamp: died.Add(-time.Hour),
		ErrorClass: "row", ErrorCode: "geometry_invalid", ErrorStage: "gate", ErrorMessage: "ring 3 crosses itself",
		Source: header.Position{Topic: "features", Partition: partition, Offset: 40}, HasSource: true,
		ContentHash: idempotency.Of([]byte(value)).String(), FeatureID: id, BBox: "0,0,2,2",
		RunID: "run-1", Pipeline: "features", DeadLetterID: id, Lineage: "stac:1", Care: "C1", Sovereignty: "S1",
	}
}
