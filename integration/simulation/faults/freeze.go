package faults

import (
	"math/rand/v2"
	"time"

	"github.com/switchback-geo/switchback/integration/simulation/plan"
	"github.com/switchback-geo/switchback/integration/simulation/world"
)

// freeze puts a process to sleep, as a long pause of its machine does. One that sleeps past its session is a zombie when it
// wakes: it goes on with what it was about to send, and others own its partitions by then.
func freeze() Kind {
	return Kind{
		Name: "freeze", Weight: 10, Redoes: redoes(2),
		Draw: func(r *rand.Rand, p plan.Plan) plan.Fault {
			return plan.Fault{For: pick(r, upTo(r, p.Engine.Session), p.Engine.Session+upTo(r, p.Engine.Session))}
		},
		Strike: func(w *world.World, f plan.Fault) {
			in := w.Instance(f.Instance)
			w.Tell("%s sleeps for %s", in.Name, f.For)
			host := in.Host()
			host.Freeze()
			w.Wait(f.For)
			host.Thaw()
			w.Tell("%s wakes", in.Name)
		},
	}
}

// slow makes everything that a process reads come late.
func slow() Kind {
	return Kind{
		Name: "slow", Weight: 4, Redoes: redoes(1),
		Draw: func(r *rand.Rand, _ plan.Plan) plan.Fault {
			return plan.Fault{For: upTo(r, 40*time.Second), Count: 5 + r.IntN(300)}
		},
		Strike: func(w *world.World, f plan.Fault) {
			in := w.Instance(f.Instance)
			late := time.Duration(f.Count) * time.Millisecond
			w.Tell("%s reads everything %s late, for %s", in.Name, late, f.For)
			host := in.Host()
			host.Delay(late)
			w.Wait(f.For)
			host.Delay(0)
		},
	}
}
