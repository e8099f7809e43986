package faults

import (
	"math/rand/v2"
	"time"

	"github.com/switchback-geo/switchback/integration/simulation/plan"
	"github.com/switchback-geo/switchback/integration/simulation/world"
)

// The ways to re-create a topic.
const (
	stopped = "stopped" // all instances are stopped, as docs/changes.md requires
	running = "running" // the instances run on
)

// recreate deletes the source topic and creates it again. Unread records are lost. The instances stop until an
// operator has adopted the new topic.
func recreate() Kind {
	return Kind{
		Name: plan.KindRecreate, Share: .06, Redoes: redoes(4), Lasts: world.AdoptWithin,
		Draw: func(r *rand.Rand, _ plan.Plan) plan.Fault {
			return plan.Fault{What: pick(r, stopped, running), For: upTo(r, 20*time.Second)}
		},
		Strike: func(w *world.World, f plan.Fault) {
			w.Tell("the source is deleted, and created again after %s (%s)", f.For, f.What)
			if err := w.Recreate(f.What == stopped, f.For); err != nil {
				w.Tell("the source is not re-created, or not adopted: %v", err)
				return
			}
			w.Tell("the new source is adopted")
			for _, in := range w.Instances()[:w.Plan.Engine.Instances] {
				in.Start()
			}
		},
	}
}
