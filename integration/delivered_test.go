package integration

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/conservation"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/misbehave"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/internal/testkit/topiclog"
	"github.com/twmb/franz-go/pkg/kgo"
)

// C-1: consumers transform feature messages read from a Kafka topic.
func TestDelivered_C1(t *testing.T) {
	testrun.Proof(t)
	t.Parallel()
	p := newPipe(t, time.Minute).ensure()
	const n = 300
	sent := p.send(ids("f", n)...)
	s := p.drain().balances(t)
	if got := s.number(t, "delivered"); got != n {
		t.Errorf("summary: delivered %d, want %d", got, n)
	}
	wantTotals(t, p.verify(), n, conservation.Place{Output: n})

	source := map[string]*kgo.Record{}
	for _, r := range sent {
		source[topiclog.Position(r)] = r
	}
	for _, r := range p.read(p.topics.Output) {
		from, _ := topiclog.Header(r, "switchback-source")
		checkOutput(t, r, source[from])
	}

	t.Run("a_second_run_has_nothing_to_do", func(t *testing.T) {
		if got := p.drain().number(t, "consumed"); got != 0 {
			t.Errorf("consumed %d records again", got)
		}
		wantTotals(t, p.verify(), n, conservation.Place{Output: n})
	})
}

// checkOutput compares an output record with the source record it came from.
func checkOutput(t *testing.T, r, from *kgo.Record) {
	t.Helper()
	if from == nil {
		return // conservation has reported it
	}
	id := string(from.Key)
	expect.That(t, string(r.Key) == id, "output key %q, want %q", r.Key, id)
	var out struct {
		Type       string
		Geometry   struct{ Coordinates []float64 }
		Properties map[string]any
	}
	if err := json.Unmarshal(r.Value, &out); err != nil {
		t.Errorf("output of %s is not JSON: %v", id, err)
		return
	}
	want := map[string]any{"id": id, "level": float64(3), "place_name": misbehave.PlaceName(id)}
	for key, value := range want {
		if out.Properties[key] != value {
			t.Errorf("output of %s: %s is %v, want %v", id, key, out.Properties[key], value)
		}
	}
	expect.That(t, out.Type == "Feature" && len(out.Geometry.Coordinates) == 2 && out.Geometry.Coordinates[0] == 11.5, "output of %s: %s", id, r.Value)
	for _, key := range []string{"switchback-content-hash", "switchback-feature-id", "switchback-pipeline"} {
		if _, n := topiclog.Header(r, key); n != 1 {
			t.Errorf("output of %s has %d headers %s, want 1", id, n, key)
		}
	}
	for _, want := range from.Headers {
		if value, n := topiclog.Header(r, want.Key); n != 1 || value != string(want.Value) {
			t.Errorf("output of %s: producer header %s is %q, %d times", id, want.Key, value, n)
		}
	}
}
