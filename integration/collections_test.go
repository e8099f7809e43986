package integration

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/conservation"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/misbehave"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/internal/testkit/topiclog"
)

// perFeature splits collections, whose features end each by itself.
func perFeature(order string) func(*settings) {
	return func(s *settings) { s.Source, s.Ordering = "split: features", order }
}

// partsOf is how many features each collection of a test has.
const partsOf = 9

// mixed makes n collections. Of each, feature 1 is refused by the service, 4 fails transiently once and 6 twice, and 7 has a value
// that no mapping takes.
func (p *pipe) mixed(n int) (sent []*kgo.Record) {
	p.t.Helper()
	for _, name := range ids("c", n) {
		var features []string
		for _, id := range ids(name, partsOf) {
			features = append(features, feature(id))
		}
		features[7] = strings.Replace(features[7], `"level": 3`, `"level": "high"`, 1)
		p.places.Script(name+"-1", misbehave.Times(1000, misbehave.Status(404))...)
		p.places.Script(name+"-4", misbehave.Status(503))
		p.places.Script(name+"-6", misbehave.Times(2, misbehave.Status(503))...)
		sent = append(sent, &kgo.Record{Topic: p.topics.Source, Key: []byte(name), Value: []byte(
			`{"type":"FeatureCollection",  "features":[` + strings.Join(features, " , ") + `]}`,
		)})
	}
	return sent
}

// wantFeatures says that the output has each feature of n collections once, but for those that are left out, and which part of
// its collection each one is.
func (p *pipe) wantFeatures(n int, left ...int) {
	p.t.Helper()
	seen := map[string]int{}
	for _, r := range p.read(p.topics.Output) {
		seen[string(r.Key)]++
		name := string(r.Key)
		part, _ := topiclog.Header(r, "switchback-part")
		expect.Equal(p.t, fmt.Sprintf("%s/%d", name[strings.LastIndexByte(name, '-')+1:], partsOf), part, "output", name, "says that it is part")
	}
	want := map[string]int{}
	for _, name := range ids("c", n) {
		for i, id := range ids(name, partsOf) {
			if !slices.Contains(left, i) {
				want[id] = 1
			}
		}
	}
	expect.That(p.t, maps.Equal(seen, want), "%d features in the output, want %d, each once: %v", len(seen), len(want), seen)
}

// serves lets the service take what it refused.
func (p *pipe) serves(n int) {
	for _, name := range ids("c", n) {
		p.places.Script(name + "-1")
	}
}

// C-1, C-2, C-3, C-4, S4-8: each feature of a collection is delivered, retried and dead-lettered by itself, in every order; what was
// dead is put back by itself, and every feature is in the output exactly once.
func TestPerFeature_C1_C2_C3_C4(t *testing.T) {
	testrun.Fast(t)
	for _, order := range []string{"none", "latest_wins", "strict", "strict, on_dead_letter: hold_key"} {
		t.Run(order, func(t *testing.T) {
			if order == "latest_wins" || order == "strict" {
				testrun.Nightly(t)
			}
			t.Parallel()
			const n = 6
			p := newPipe(t, time.Minute, perFeature(order)).ensure()
			p.sendRecords(p.mixed(n)...)
			s := p.drain().balances(t)
			expect.That(t, s.number(t, "delivered") == n && s.number(t, "parts_dead_lettered") == 2*n, "summary %v", s)
			wantTotals(t, p.verify(), 3*n, conservation.Place{Output: n, Letters: 2 * n})
			p.wantFeatures(n, 1, 7)
			for _, name := range ids("c", n) {
				for i, want := range map[int]int{0: 1, 1: 1, 4: 2, 6: 3, 7: 0} {
					expect.Equal(t, len(p.places.Arrivals(fmt.Sprintf("%s-%d", name, i))), want, "the service was asked", i, name)
				}
			}
			p.putBack(t, n)
		})
	}
}

// putBack replays the dead letters of n collections once their causes are gone, first those of the service.
func (p *pipe) putBack(t *testing.T, n int) {
	t.Helper()
	codes := map[string]string{}
	for _, l := range p.read(p.topics.DLQ) {
		part, _ := topiclog.Header(l, "switchback-part")
		codes[part], _ = topiclog.Header(l, "switchback-error-code")
	}
	must.That(t, len(codes) == 2, "dead letters of the parts %v", codes)
	p.serves(n)
	p.replays("--execute", "--including-failing", "--code", codes["1/9"])
	p.drain()
	wantTotals(t, p.verify(), 3*n, conservation.Place{Output: 2 * n, Letters: 2 * n, Replays: n})
	p.wantFeatures(n, 7)
	p.wantStates(n, "reprocessed")
	p.replays("--execute", "--including-failing", "--code", codes["7/9"]) // dies again, by itself
	p.drain()
	wantTotals(t, p.verify(), 3*n, conservation.Place{Output: 2 * n, Letters: 3 * n, Replays: 2 * n})
	p.wantFeatures(n, 7)
}

// S3-1, S4-14: consumers that are killed while features of collections wait, die and are delivered lose none and double none.
func TestPerFeatureKilled_S3_1_S4_14(t *testing.T) {
	beside(t, testrun.Nightly, needRealKafka)
	for _, order := range []string{"none", "latest_wins", "strict"} {
		t.Run(order, func(t *testing.T) {
			t.Parallel()
			const n, kills = 120, 3
			p := newPipe(t, 4*time.Minute, killed, perFeature(order)).ensure()
			sent := p.mixed(n)
			tiers, output := p.log.Tail(t, p.topics.Tiers...), p.log.Tail(t, p.topics.Output)
			p.sendRecords(sent...)
			p.killAmid(output, kills, n*partsOf/(kills+2), n*partsOf/(6*kills))
			p.drain()
			wantTotals(t, p.verify(tiers.Seen()...), 3*n, conservation.Place{Output: n, Letters: 2 * n})
			p.wantFeatures(n, 1, 7)
			p.neverEarly(tiers.Seen())
			p.putBack(t, n)
		})
	}
}
