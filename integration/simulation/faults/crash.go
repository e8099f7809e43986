package faults

import (
	"math/rand/v2"
	"time"

	"github.com/switchback-geo/switchback/integration/simulation/plan"
	"github.com/switchback-geo/switchback/integration/simulation/world"
)

// crash kills a process, like kill -9 or the loss of its machine, and starts it again at once or later.
func crash() Kind {
	return Kind{
		Name: "crash", Weight: 10, Redoes: redoes(1),
		Draw: func(r *rand.Rand, _ plan.Plan) (f plan.Fault) {
			if r.IntN(2) == 0 {
				f.For = upTo(r, 60*time.Second)
			}
			return f
		},
		Strike: func(w *world.World, f plan.Fault) {
			in := w.Instance(f.Instance)
			if !in.Kill() {
				w.Tell("%s does not run and cannot crash", in.Name)
				return
			}
			w.Tell("%s crashes, and is started again after %s", in.Name, f.For)
			w.Wait(f.For)
			in.Start()
		},
	}
}
