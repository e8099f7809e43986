package faults

import (
	"math/rand/v2"
	"time"

	"github.com/switchback-geo/switchback/integration/simulation/plan"
	"github.com/switchback-geo/switchback/integration/simulation/world"
)

// mostSkew is the largest deviation of a clock. Records that wait by such a clock wait longer by it.
const mostSkew = 90 * time.Second

// clock sets the clock of an instance ahead or behind, temporarily or permanently. The clock jumps, like one that was
// not synchronized for long.
func clock() Kind {
	return Kind{
		Name: plan.KindClock, Weight: 6, Redoes: redoes(0), Lasts: 2 * mostSkew,
		Draw: func(r *rand.Rand, _ plan.Plan) plan.Fault {
			skew := upTo(r, 2*mostSkew) - mostSkew
			return plan.Fault{Count: int(skew.Milliseconds()), For: pick(r, 0, upTo(r, 40*time.Second))}
		},
		Strike: func(w *world.World, f plan.Fault) {
			in := w.Instance(f.Instance)
			skew := time.Duration(f.Count) * time.Millisecond
			w.Tell("the clock of %s is %s ahead", in.Name, skew)
			in.SetClock(skew)
			if f.For > 0 {
				w.Wait(f.For)
				in.SetClock(0)
				w.Tell("the clock of %s is right", in.Name)
			}
		},
	}
}
