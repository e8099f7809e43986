package faults

import (
	"math/rand/v2"
	"time"

	"github.com/switchback-geo/switchback/integration/simulation/plan"
	"github.com/switchback-geo/switchback/integration/simulation/world"
)

// expireWithin is the time limit for the group to become empty: static members leave it when their session ends.
const expireWithin = 2 * time.Minute

// expire stops all instances until the offsets of the group have expired, and starts them again. Real brokers take days;
// here the group is deleted as soon as it is empty.
func expire() Kind {
	return Kind{
		Name: "expire", Weight: 4, Redoes: redoes(3), Lasts: expireWithin,
		Draw: func(r *rand.Rand, _ plan.Plan) plan.Fault { return plan.Fault{For: upTo(r, 20*time.Second)} },
		Strike: func(w *world.World, f plan.Fault) {
			w.Tell("all instances are stopped for %s and more", f.For)
			w.StopAll()
			w.Wait(f.For)
			err := w.DeleteGroup()
			for until := w.Now() + expireWithin; err != nil && w.Now() < until && w.Wait(time.Second); {
				err = w.DeleteGroup()
			}
			if err != nil {
				w.Tell("the group's offsets do not expire: %v", err)
			} else {
				w.Tell("the group's offsets have expired")
			}
			for _, in := range w.Instances()[:w.Plan.Engine.Instances] {
				in.Start()
			}
		},
	}
}
