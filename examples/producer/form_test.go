package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sr/srfake"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/envelope"
	"github.com/switchback-geo/switchback/pkg/transform"
	"github.com/switchback-geo/switchback/schemas"
)

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
	tr, err := transform.New(transform.Config{})
	must.Do(t, err)
	opener, err := envelope.New(tr, envelope.Options{Format: envelope.Auto})
	must.Do(t, err)
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
		t.Run(name, func(t *testing.T) {
			var out, errs bytes.Buffer
			code := run(t.Context(), append([]string{"-brokers", broker}, c.args...), strings.NewReader(c.input), &out, &errs)
			expect.That(t, code == c.code && strings.Contains(errs.String(), c.want), "exit code %d, said %q, want %q", code, errs.String(), c.want)
		})
	}
	records(t, broker, "features", 0)
}
