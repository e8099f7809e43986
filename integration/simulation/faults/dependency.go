package faults

import (
	"math/rand/v2"
	"time"

	"github.com/switchback-geo/switchback/integration/simulation/plan"
	"github.com/switchback-geo/switchback/integration/simulation/world"
)

// outage stops a dependency of all handlers, behind an open circuit breaker. It uses no attempts.
func outage() Kind {
	return Kind{
		Name: "outage", Weight: 4,
		Redoes: func(f plan.Fault) int { return 2 + int(f.For/world.ProbeAfter) },
		Draw:   func(r *rand.Rand, _ plan.Plan) plan.Fault { return plan.Fault{For: upTo(r, 40*time.Second)} },
		Strike: func(w *world.World, f plan.Fault) { w.Break(world.DownDeferred, f.For) },
	}
}

// failing lets every attempt fail transiently. It uses attempts, and records become dead letters.
func failing() Kind {
	return Kind{
		Name: plan.KindFailing, Weight: 3, Redoes: redoes(0),
		Draw:   func(r *rand.Rand, _ plan.Plan) plan.Fault { return plan.Fault{For: upTo(r, 20*time.Second)} },
		Strike: func(w *world.World, f plan.Fault) { w.Break(world.DownFails, f.For) },
	}
}

// pauseInstance pauses an instance like `consumer pause`: no attempt begins, and a failed attempt does not count.
func pauseInstance() Kind {
	return Kind{
		Name: "pause", Weight: 4, Redoes: redoes(2),
		Draw: func(r *rand.Rand, _ plan.Plan) plan.Fault { return plan.Fault{For: upTo(r, 60*time.Second)} },
		Strike: func(w *world.World, f plan.Fault) {
			in := w.Instance(f.Instance)
			engine := in.Engine()
			if engine == nil {
				return
			}
			w.Tell("%s is frozen for %s", in.Name, f.For)
			engine.Pause("an operator pauses it")
			w.Wait(f.For)
			engine.Resume()
		},
	}
}

// replay reinjects dead letters while the instances run.
func replay() Kind {
	return Kind{
		Name: "replay", Weight: 10, Redoes: redoes(0),
		Draw: func(r *rand.Rand, _ plan.Plan) plan.Fault {
			return plan.Fault{Count: 1 + r.IntN(20), What: pick(r, "", "", world.ForceVersion)}
		},
		Strike: func(w *world.World, f plan.Fault) {
			n := w.Replay(f.Count, f.What == world.ForceVersion)
			w.Tell("operator: replays %d dead letters %s", n, f.What)
		},
	}
}
