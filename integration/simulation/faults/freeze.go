package faults

import (
	"math/rand/v2"
	"time"

	"github.com/switchback-geo/switchback/integration/simulation/plan"
	"github.com/switchback-geo/switchback/integration/simulation/world"
)

// freeze stops a process without ending it, like a long pause of its machine. A process that is frozen beyond its
// session is a zombie when it wakes: it continues to send, although others own its partitions.
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

// slow delays all data that a process reads.
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
