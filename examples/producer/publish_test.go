package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

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
		e, err := newEvent(r.Value)
		expect.That(t, err == nil && e.Key == string(r.Key), "the key %q is not the feature's id: %q, %v", r.Key, e.Key, err)
	}
}

// C-7: the key is the id, the value is what was read, byte for byte.
func TestPublish_from_a_file_and_from_standard_input(t *testing.T) {
	const feature = `{"type":"Feature","id":"parcel 7","geometry":{"type":"Point","coordinates":[8.5,47.4]},"properties":{"owner":"Ä"}}`
	file := filepath.Join(t.TempDir(), "features.ndjson")
	must.Do(t, os.WriteFile(file, []byte(feature+"\n"), 0o600))
	for name, args := range map[string][]string{"file": {"-file", file}, "stdin": {"-file", "-"}} {
		t.Run(name, func(t *testing.T) {
			broker := startBroker(t, "parcels")
			var out, errs bytes.Buffer
			args := append([]string{"-brokers", broker, "-topic", "parcels"}, args...)
			code := run(t.Context(), args, strings.NewReader(feature), &out, &errs)
			must.That(t, code == 0, "exit code %d: %s", code, errs.String())
			r := records(t, broker, "parcels", 1)[0]
			expect.That(t, string(r.Value) == feature && string(r.Key) == "parcel 7", "stored %s: %s", r.Key, r.Value)
		})
	}
}

func TestPublish_stops_at_a_bad_feature_and_says_how_far_it_came(t *testing.T) {
	broker := startBroker(t, "features")
	input := `{"type":"Feature","id":"a"}` + "\n" + `{"type":"Feature"}`
	var out, errs bytes.Buffer
	expect.Equal(t, run(t.Context(), []string{"-brokers", broker, "-file", "-"}, strings.NewReader(input), &out, &errs), 1, "exit code")
	expect.That(t, strings.Contains(out.String(), "published 1 ") && strings.Contains(errs.String(), "feature 2: the feature has no id"), "printed %q and %q", out.String(), errs.String())
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
		"unknown argument": {[]string{"features.json"}, 2, "features are read with -file"},
		"unknown flag":     {[]string{"-brokr", "x"}, 2, "-brokers"},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errs bytes.Buffer
			expect.Equal(t, run(t.Context(), c.args, nil, &out, &errs), c.code, "exit code")
			expect.That(t, strings.Contains(errs.String(), c.want), "said %q, want %q in it", errs.String(), c.want)
		})
	}
}
