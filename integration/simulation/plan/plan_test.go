package plan

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

func kinds() []Kind {
	return []Kind{
		{Name: "a", Weight: 1, Draw: func(r *rand.Rand, _ Plan) Fault { return Fault{For: time.Duration(r.IntN(1000)) * time.Millisecond} }},
		{Name: "b", Weight: 3, Draw: func(*rand.Rand, Plan) Fault { return Fault{Count: 7, What: "x"} }},
	}
}

func TestDraw_aSeedDrawsOnePlan(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(200) {
		p, again := Draw(seed, kinds()), Draw(seed, kinds())
		must.That(t, p.Text() == again.Text(), "seed %d draws two plans:\n%s\n%s", seed, p, again)
		seen[p.Text()] = true
		must.That(t, slices.IsSortedFunc(p.Faults, func(a, b Fault) int { return int(a.At - b.At) }) && len(p.Faults) != 0, "seed %d: faults %v", seed, p.Faults)
		for n := range p.Load.Records {
			must.That(t, p.Event(n) == again.Event(n), "seed %d: event %d is two", seed, n)
		}
	}
	expect.That(t, len(seen) == 200, "200 seeds draw %d plans", len(seen))
}

// The artificial world fails as long as one fault and two events are in the plan. The shrinker must leave exactly these.
func TestSmaller_leavesWhatIsNeeded(t *testing.T) {
	fails := func(p Plan) bool {
		return p.Load.Sends(11) && p.Load.Sends(170) && slices.ContainsFunc(p.Faults, func(f Fault) bool { return f.Kind == "b" })
	}
	p := Draw(3, kinds())
	p.Load.Records = 200
	must.That(t, fails(p), "the plan does not fail at first")
	played := 0
	for again := true; again; {
		again = false
		for _, q := range p.Smaller() {
			if played++; fails(q) {
				p, again = q, true
				break
			}
		}
	}
	sent := 0
	for n := range p.Load.Records {
		if p.Load.Sends(n) {
			sent++
		}
	}
	expect.That(t, len(p.Faults) == 1 && sent <= 2 && p.Engine.Instances == 1 && p.Cluster.Partitions == 1 && played <= 2000, "after %d plays there are left %d events and\n%s", played, sent, p)
}
