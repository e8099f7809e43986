package faults

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/switchback-geo/switchback/integration/simulation/plan"
	"github.com/switchback-geo/switchback/integration/simulation/world"
)

// Kind is one kind of fault.
type Kind struct {
	Name    string
	Weight  int                  // how often it is drawn, relative to the others
	Share   float64              // share of the worlds that have it, instead of a weight
	Redoes  func(plan.Fault) int // how often it may repeat the attempt at a record, at most
	Lasts   time.Duration        // how much longer than its own duration it may delay the world's coming to rest
	Durable bool                 // the cluster must keep its data on disk

	Draw   func(*rand.Rand, plan.Plan) plan.Fault // draws a fault without its time and instance
	Strike func(*world.World, plan.Fault)         // returns when the fault is over
}

// All returns every kind.
func All() []Kind {
	return []Kind{
		crash(), cut(), lost(), code(), freeze(), slow(), restart(), leaders(), clean(), deploy(), scale(), expire(), prune(), outage(), failing(),
		pauseInstance(), replay(), deny(), denyWrite(), clock(), recreate(),
	}
}

// Choose returns the kinds with the given names, separated by commas; all kinds for "". A named kind is in every world,
// or is drawn by its weight.
func Choose(names string) ([]Kind, error) {
	var chosen []Kind
	if names == "" {
		return All(), nil
	}
	for name := range strings.SplitSeq(names, ",") {
		k, ok := Find(name)
		if !ok {
			return nil, fmt.Errorf("there is no kind of fault %q", name)
		}
		if k.Share > 0 {
			k.Share = 1
		}
		chosen = append(chosen, k)
	}
	return chosen, nil
}

// Find returns the kind with a name.
func Find(name string) (Kind, bool) {
	for _, k := range All() {
		if k.Name == name {
			return k, true
		}
	}
	return Kind{}, false
}

// Plans converts kinds to those of package plan.
func Plans(kinds []Kind) []plan.Kind {
	out := make([]plan.Kind, 0, len(kinds))
	for _, k := range kinds {
		out = append(out, plan.Kind{Name: k.Name, Weight: k.Weight, Share: k.Share, Draw: k.Draw})
	}
	return out
}

func redoes(n int) func(plan.Fault) int { return func(plan.Fault) int { return n } }

// upTo draws a time below d.
func upTo(r *rand.Rand, d time.Duration) time.Duration { return time.Duration(r.Int64N(int64(d))) }

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }
