package faults

import (
	"math/rand/v2"
	"time"

	"github.com/switchback-geo/switchback/integration/simulation/plan"
	"github.com/switchback-geo/switchback/integration/simulation/world"
)

// cut disconnects a process from the network.
func cut() Kind {
	return Kind{
		Name: "cut", Weight: 8, Redoes: redoes(2),
		Draw: func(r *rand.Rand, _ plan.Plan) plan.Fault { return plan.Fault{For: upTo(r, 50*time.Second)} },
		Strike: func(w *world.World, f plan.Fault) {
			in := w.Instance(f.Instance)
			w.Tell("%s is cut off for %s", in.Name, f.For)
			host := in.Host()
			host.Cut()
			w.Wait(f.For)
			host.Heal()
			w.Tell("%s can reach the brokers again", in.Name)
		},
	}
}

// lost loses one answer of a broker that has carried out the request.
func lost() Kind {
	return Kind{
		Name: "lost", Weight: 10, Redoes: redoes(2),
		Draw: func(r *rand.Rand, _ plan.Plan) plan.Fault { return plan.Fault{Count: 1 + r.IntN(60)} },
		Strike: func(w *world.World, f plan.Fault) {
			in := w.Instance(f.Instance)
			w.Tell("%s loses answer %d", in.Name, f.Count)
			in.Host().Lose(f.Count)
		},
	}
}
