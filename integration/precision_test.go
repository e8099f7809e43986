package integration

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/conservation"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

// coordinates are records of features with coordinates of so many decimals.
func coordinates(topic string, names []string, decimals int) (out []*kgo.Record) {
	scale := math.Pow10(decimals)
	for i, id := range names {
		x, y := math.Round((9+float64(i+1)*math.Pi/1000)*scale)/scale, math.Round((47+float64(i+1)*math.E/1000)*scale)/scale
		text := fmt.Sprintf(`{"type":"Feature","id":%q,"properties":{"id":%q,"level":1},"geometry":{"type":"Point","coordinates":[%v,%v]}}`, id, id, x, y)
		out = append(out, &kgo.Record{Topic: topic, Key: []byte(id), Value: []byte(text)})
	}
	return out
}

// S0-9: with a floor, a batch cut to 4 decimals pauses the pipeline, over restarts, and hardly any of it is delivered before. A
// person decides what becomes of the rest: records below the floor become dead letters, which can be replayed under the same
// floor, or the floor goes, and all are delivered.
func TestPrecisionFloor_S0_9(t *testing.T) {
	testrun.Fast(t)
	t.Parallel()
	const base = "max_null_rate: 1, halt_on_geometry_invalid: false, max_dead_letter_rate: 1, precision_decimal_threshold: 6"
	for name, dead := range map[string]bool{"dead_letters": true, "accepted": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPipe(t, 2*time.Minute, tolerance(base)).ensure()
			good, bad := ids("good", 300), ids("bad", 300)
			p.sendRecords(coordinates(p.topics.Source, good, 7)...)
			p.drain()
			p.sendRecords(coordinates(p.topics.Source, bad, 4)...)
			for range 2 {
				r := p.start("it", "--until-end", "--summary", "-").Wait(p.ctx, t)
				if s := readSummary(t, r.Stdout); r.Code != 6 || s["status"] != "held" || !strings.Contains(fmt.Sprint(s["reason"]), "precision_decimal_threshold") {
					t.Fatalf("a bounded run below the floor: %s", r)
				}
			}
			// The second run is held before its first record: 25 points pass, and no more.
			if n := len(p.read(p.topics.Output)) - len(good); n > 25 || len(p.read(p.topics.DLQ)) > 0 {
				t.Errorf("%d delivered below the floor, %d dead letters", n, len(p.read(p.topics.DLQ)))
			}
			p.set.Tolerance = tolerant
			if dead {
				p.set.Tolerance = base + ", hold_on: []"
			}
			p.write()
			p.order("resume", "--reason", "decided")
			p.drain()
			letters := 0
			for _, r := range p.read(p.topics.DLQ) {
				if value(r, "switchback-error-code") == "precision_degraded" {
					letters++
				}
			}
			if dead != (letters >= 200) {
				t.Fatalf("%d dead letters", letters)
			}
			want := conservation.Place{Output: 600 - letters, Letters: letters}
			if dead {
				replay := []string{"replay", "-c", p.file, "--reason", "as they are"}
				if r := p.run("replayer", append(append(replay, "--execute"), p.consent(replay)...)...); r.Code != 0 {
					t.Fatalf("replay: %s", r)
				}
				p.drain()
				want = conservation.Place{Output: 600, Letters: letters, Replays: letters}
			}
			wantTotals(t, p.verify(), 600, want)
		})
	}
}
