package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sr/srfake"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/envelope"
	"github.com/switchback-geo/switchback/pkg/transform"
	"github.com/switchback-geo/switchback/schemas"
)

// C-7: a producer may hold its features in either of the usual forms.
func TestReadEvents_both_forms(t *testing.T) {
	const a, b = `{"type":"Feature","id":"a","geometry":null,"properties":{}}`, `{"type":"Feature","id":9007199254740993,"geometry":null,"properties":{}}`
	for name, input := range map[string]string{
		"one a line":            a + "\n" + b + "\n",
		"a blank line between":  a + "\n\n" + b,
		"a FeatureCollection":   `{"type":"FeatureCollection","features":[` + a + `,` + b + `]}`,
		"a collection in lines": "{\"type\":\"FeatureCollection\",\n\"features\":[\n" + a + ",\n" + b + "\n]\n}\n",
	} {
		t.Run(name, func(t *testing.T) {
			var keys []string
			for e, err := range readEvents(strings.NewReader(input), "") {
				must.Do(t, err)
				keys = append(keys, e.Key)
				want := map[string]string{"a": a, "9007199254740993": b}[e.Key]
				expect.That(t, string(e.Value) == want, "the value of %s is not what was read: %s", e.Key, e.Value)
			}
			expect.Equal(t, strings.Join(keys, " "), "a 9007199254740993", "keys")
		})
	}
}

// C-7: a producer learns of a bad feature before a consumer does.
func TestReadEvents_says_which_feature_is_wrong(t *testing.T) {
	const good = `{"type":"Feature","id":"a","geometry":null,"properties":{}}` + "\n"
	for name, c := range map[string]struct{ input, want string }{
		"no id":            {`{"type":"Feature","geometry":null,"properties":{}}`, "feature 2: the feature has no id"},
		"null id":          {`{"type":"Feature","id":null}`, "feature 2: the feature has no id"},
		"empty id":         {`{"type":"Feature","id":""}`, "feature 2: the id is empty"},
		"id is an object":  {`{"type":"Feature","id":{}}`, "feature 2: the id {} is neither"},
		"a bare geometry":  {`{"type":"Point","coordinates":[1,2]}`, `feature 2: type is "Point"`},
		"truncated":        {`{"type":"Feature",`, "feature 2: unexpected EOF"},
		"not an object":    {`[1]`, "feature 2: not JSON"},
		"something else":   {`hello`, "feature 2: invalid character"},
		"id is a boolean":  {`{"type":"Feature","id":true}`, "feature 2: the id true is neither"},
		"id is not quoted": {`{"type":"Feature","id":"a}`, "feature 2: unexpected EOF"},
	} {
		var last error
		n := 0
		for _, err := range readEvents(strings.NewReader(good+c.input), "") {
			n++
			last = err
		}
		expect.That(t, last != nil && strings.HasPrefix(last.Error(), c.want) && n == 2, "%v: after %d events: %v, want %s", name, n, last, c.want)
	}
}

// published runs the example and returns the records by their keys.
func published(t *testing.T, want int, args ...string) map[string]*kgo.Record {
	t.Helper()
	broker := startBroker(t, "features")
	var out, errs bytes.Buffer
	code := run(t.Context(), append([]string{"-brokers", broker, "-n", "100"}, args...), nil, &out, &errs)
	must.That(t, code == 0, "exit code %d: %s", code, errs.String())
	byKey := map[string]*kgo.Record{}
	for _, r := range records(t, broker, "features", want) {
		byKey[string(r.Key)] = r
	}
	return byKey
}

// C-7: whichever form the example publishes, a consumer that goes by the headers reads the same features.
func TestPublish_C_7_everyFormHasTheSameContent(t *testing.T) {
	plain := published(t, 100)
	tr := must.Get(transform.New(transform.Config{}))(t)
	opener := must.Get(envelope.New(tr, envelope.Options{Format: envelope.Auto}))(t)
	for name, args := range map[string][]string{
		"geojson": {"-format", "geojson"}, "cloudevents": {"-format", "cloudevents"}, "avro": {"-format", "avro"},
	} {
		t.Run(name, func(t *testing.T) {
			events := map[string]bool{}
			for key, r := range published(t, 100, args...) {
				c := must.Get(opener.Open(t.Context(), r.Headers, r.Value))(t)
				same, err := tr.Decode(plain[key].Value)
				expect.That(t, err == nil && bytes.Equal(transform.Canonical(c.Feature), transform.Canonical(same)) && c.FeatureID == key, "%s is another feature: %v", key, err)
				if name != "cloudevents" {
					continue
				}
				expect.That(t, c.Event != nil && c.Event.Subject == key && c.Event.Time != "" && !events[c.Event.ID], "%s has the event %+v", key, c.Event)
				events[c.Event.ID] = true
			}
		})
	}
}

// C-7: with a registry, Avro has Confluent's framing, and the schema is the published one.
func TestPublish_C_7_avroThroughARegistry(t *testing.T) {
	fake := srfake.New()
	t.Cleanup(fake.Close)
	for range 2 { // a second run finds the schema registered
		all := published(t, 100, "-format", "avro", "-registry", fake.URL())
		registered, found := fake.GetSchema("features-value", 1)
		text, err := schemas.Read(schemas.FeatureEventAvro)
		must.That(t, err == nil && found && registered.Schema.Schema == string(text), "registered %+v, %v", registered, err)
		for key, r := range all {
			expect.That(t, bytes.HasPrefix(r.Value, envelope.AppendConfluent(nil, registered.ID)), "%s begins with %x", key, r.Value[:5])
		}
	}
	_, second := fake.GetSchema("features-value", 2)
	expect.That(t, !second, "the second run registered the schema again")
}

func TestPublish_formsThatCannotBeWritten(t *testing.T) {
	gone := srfake.New()
	url := gone.URL()
	gone.Close()
	broker := startBroker(t, "features")
	for name, c := range map[string]struct {
		args  []string
		input string
		code  int
		want  string
	}{
		"unknown form":       {[]string{"-format", "shapefile"}, "", 2, "write one of [geojson cloudevents avro]"},
		"no registry there":  {[]string{"-format", "avro", "-registry", url}, "", 1, "register feature-event.v1.avsc under features-value at the schema registry " + url},
		"not even a feature": {[]string{"-format", "avro", "-file", "-"}, `{"type":"Feature","id":"a","geometry":{"type":"Point","coordinates":[1]},"properties":{}}`, 1, "the feature a: "},
	} {
		var out, errs bytes.Buffer
		code := run(t.Context(), append([]string{"-brokers", broker}, c.args...), strings.NewReader(c.input), &out, &errs)
		expect.That(t, code == c.code && strings.Contains(errs.String(), c.want), "%v: exit code %d, said %q, want %q", name, code, errs.String(), c.want)
	}
	records(t, broker, "features", 0)
}

// eventSchema is the published schema of a feature event.
func eventSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	return must.Get(jsonschema.NewCompiler().Compile(filepath.Join("..", "..", "schemas", "feature-event.v1.json")))(t)
}

func fits(t *testing.T, schema *jsonschema.Schema, value []byte) error {
	t.Helper()
	instance := must.Get(jsonschema.UnmarshalJSON(bytes.NewReader(value)))(t)
	return schema.Validate(instance)
}

// startBroker returns the address of an embedded broker that has the topic.
func startBroker(t *testing.T, topic string) string {
	t.Helper()
	cluster := must.Get(kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(3, topic)))(t)
	t.Cleanup(cluster.Close)
	return cluster.ListenAddrs()[0]
}

// records reads the whole topic.
func records(t *testing.T, broker, topic string, want int) []*kgo.Record {
	t.Helper()
	client := must.Get(kgo.NewClient(kgo.SeedBrokers(broker), kgo.ConsumeTopics(topic), kgo.ConsumeStartOffset(kgo.NewOffset().AtStart())))(t)
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	ends := must.Get(kadm.NewClient(client).ListEndOffsets(ctx, topic))(t)
	stored := 0
	ends.Each(func(o kadm.ListedOffset) { stored += int(o.Offset) })
	must.That(t, stored == want, "the topic has %d records, want %d", stored, want)
	var out []*kgo.Record
	for len(out) < stored {
		fetches := client.PollFetches(ctx)
		must.Do(t, fetches.Err())
		out = append(out, fetches.Records()...)
	}
	return out
}

// C-7: what the example publishes is what the published schema describes.
func TestPublish_events_follow_the_published_schema(t *testing.T) {
	broker, schema := startBroker(t, "features"), eventSchema(t)
	var out, errs bytes.Buffer
	code := run(t.Context(), []string{"-brokers", broker, "-n", "200"}, nil, &out, &errs)
	must.That(t, code == 0, "exit code %d: %s", code, errs.String())
	want := "published 200 feature events to features\n"
	expect.That(t, out.String() == want, "printed %q, want %q", out.String(), want)
	for _, r := range records(t, broker, "features", 200) {
		expect.Do(t, fits(t, schema, r.Value), r.Key)
		e, err := newEvent(r.Value, "")
		expect.That(t, err == nil && e.Key == string(r.Key), "the key %q is not the feature's id: %q, %v", r.Key, e.Key, err)
	}
}

// C-7: the key is the id or a property, the value is what was read, byte for byte.
func TestPublish_from_a_file_and_from_standard_input(t *testing.T) {
	const feature = `{"type":"Feature","id":"parcel 7","geometry":{"type":"Point","coordinates":[8.5,47.4]},"properties":{"owner":"Ä"}}`
	file := filepath.Join(t.TempDir(), "features.ndjson")
	must.Do(t, os.WriteFile(file, []byte(feature+"\n"), 0o600))
	for key, args := range map[string][]string{"parcel 7": {"-file", file}, "Ä": {"-file", "-", "-key", "owner"}} {
		t.Run(key, func(t *testing.T) {
			broker := startBroker(t, "parcels")
			var out, errs bytes.Buffer
			args := append([]string{"-brokers", broker, "-topic", "parcels"}, args...)
			code := run(t.Context(), args, strings.NewReader(feature), &out, &errs)
			must.That(t, code == 0, "exit code %d: %s", code, errs.String())
			r := records(t, broker, "parcels", 1)[0]
			expect.That(t, string(r.Value) == feature && string(r.Key) == key, "stored %s: %s", r.Key, r.Value)
		})
	}
}

// C-7: a file with broken lines can be published as it is, so that its broken lines become dead letters with a cause of their own.
func TestPublish_lines_are_sent_as_they_are(t *testing.T) {
	input := "{ \"type\":\"Feature\", \"id\":\"a\", \"properties\":{\"NR\":7}}\r\n\n" + `{"type":"Feature","properties":{}}` + "\n" + `{"type":"Feature","id":"b","properties":{"NR": "8","x` + "\n" + `{"type":"Feature","id":"c","a":{"NR":1},"b":{"NR":2}}`
	lines := strings.Split(input, "\n")
	for key, c := range map[string]struct {
		keys []string // of the lines; a prefix where it ends with -
		says string
	}{
		"":   {[]string{"a", "", "line-3-", "line-4-", "c"}, "2 of 4 lines are no features or have no key; the first, line 3: the feature has no id"},
		"NR": {[]string{"7", "", "line-3-", "8", "line-5-"}, "3 of 4 lines are no features or have no key; the first, line 3: "},
	} {
		var out, errs bytes.Buffer
		topic := "lines" + key
		broker := startBroker(t, topic)
		code := run(t.Context(), []string{"-brokers", broker, "-topic", topic, "-file", "-", "-lines", "-key", key}, strings.NewReader(input), &out, &errs)
		must.That(t, code == 0 && strings.Contains(errs.String(), c.says), "exit code %d: %s", code, errs.String())
		for _, r := range records(t, broker, topic, 4) {
			n := slices.Index(lines, string(r.Value))
			if n < 0 {
				n = slices.Index(lines, string(r.Value)+"\r")
			}
			must.That(t, n >= 0, "no line: %q", r.Value)
			want := c.keys[n]
			expect.That(t, string(r.Key) == want || strings.HasSuffix(want, "-") && strings.HasPrefix(string(r.Key), want) && len(r.Key) == len(want)+8, "line %d has the key %q, want %q", n+1, r.Key, want)
		}
	}
}

func TestPublish_stops_at_a_bad_feature_and_says_how_far_it_came(t *testing.T) {
	broker := startBroker(t, "features")
	input := `{"type":"Feature","id":"a"}` + "\n" + `{"type":"Feature"}`
	var out, errs bytes.Buffer
	expect.Equal(t, run(t.Context(), []string{"-brokers", broker, "-file", "-"}, strings.NewReader(input), &out, &errs), 1, "exit code")
	expect.That(t, strings.Contains(out.String(), "published 1 ") && strings.Contains(errs.String(), "feature 2: the feature has no id, so its record would have no key; name a property"), "printed %q and %q", out.String(), errs.String())
	records(t, broker, "features", 1)
}

func TestRun_messages_say_what_to_do(t *testing.T) {
	broker := startBroker(t, "features")
	for name, c := range map[string]struct {
		args []string
		code int
		want string
	}{
		"topic missing":    {[]string{"-brokers", broker, "-topic", "nowhere"}, 1, "the topic nowhere does not exist: create it with consumer topics ensure"},
		"no broker":        {[]string{"-brokers", "127.0.0.1:1"}, 1, "no broker answers at 127.0.0.1:1"},
		"file missing":     {[]string{"-brokers", broker, "-file", "nothing.json"}, 1, "nothing.json"},
		"lines of what":    {[]string{"-lines"}, 2, "-lines needs -file"},
		"lines in Avro":    {[]string{"-lines", "-file", "-", "-format", "avro"}, 2, "and -format geojson"},
		"unknown argument": {[]string{"features.json"}, 2, "features are read with -file"},
		"unknown flag":     {[]string{"-brokr", "x"}, 2, "-brokers"},
	} {
		var out, errs bytes.Buffer
		expect.Equal(t, run(t.Context(), c.args, nil, &out, &errs), c.code, name, "exit code")
		expect.That(t, strings.Contains(errs.String(), c.want), "%v: said %q, want %q in it", name, errs.String(), c.want)
	}
}
