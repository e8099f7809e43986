package faults

import (
	"math/rand/v2"
	"time"

	"github.com/switchback-geo/switchback/integration/simulation/plan"
	"github.com/switchback-geo/switchback/integration/simulation/world"
)

// The kinds of deployments.
const (
	sameConfig = "same"        // a new version of the program
	fewer      = "concurrency" // fewer concurrent handlers
	member     = "membership"  // static instead of dynamic membership, or the reverse
	tiers      = plan.DeployTiers
)

// deploy restarts the instances one after another with another configuration, as a rolling upgrade does.
func deploy() Kind {
	return Kind{
		Name: plan.KindDeploy, Weight: 8, Redoes: redoes(4),
		Draw: func(r *rand.Rand, _ plan.Plan) plan.Fault {
			f := plan.Fault{What: pick(r, sameConfig, fewer, member, tiers), For: time.Second + upTo(r, 30*time.Second)}
			if f.What == tiers {
				f.Count = r.IntN(100)
			}
			return f
		},
		Strike: func(w *world.World, f plan.Fault) {
			w.Tell("rolling upgrade of all instances (%s) within %s", f.What, f.For)
			var change world.Change
			switch f.What {
			case fewer:
				change.Concurrency = 2
			case member:
				change.Static = new(!w.Plan.Engine.Static)
			case tiers:
				change.Tiers = f.Tiers()
				w.Tell("the tiers become %v", change.Tiers)
				for w.CreateTopics(change.Tiers) != nil && w.Wait(time.Second) {
				}
			}
			roll(w, f.For, change)
		},
	}
}

// roll restarts the instances one after another within a time.
func roll(w *world.World, within time.Duration, change world.Change) {
	all := w.Instances()
	for _, in := range all {
		in.Redeploy(change)
		in.Stop()
		in.Start()
		w.Tell("%s runs again", in.Name)
		w.Wait(within / time.Duration(len(all)))
	}
}

// The kinds of scaling.
const (
	scaleOut = "out" // one more instance for a while
	scaleIn  = "in"  // one instance fewer
)

// scale changes the number of instances for a while. Instances announce their start and end.
func scale() Kind {
	return Kind{
		Name: "scale", Weight: 6, Redoes: redoes(3),
		Draw: func(r *rand.Rand, _ plan.Plan) plan.Fault {
			return plan.Fault{What: pick(r, scaleOut, scaleIn), For: upTo(r, 40*time.Second)}
		},
		Strike: func(w *world.World, f plan.Fault) {
			if f.What == scaleIn {
				in := w.Instance(f.Instance)
				w.Tell("%s is stopped for %s", in.Name, f.For)
				in.Stop()
				w.Wait(f.For)
				in.Start()
				return
			}
			in := w.Add()
			w.Tell("%s is there for %s", in.Name, f.For)
			in.Start()
			w.Wait(f.For)
			in.Stop()
			w.Tell("%s is gone", in.Name)
		},
	}
}
