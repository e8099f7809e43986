package faults

import (
	"math/rand/v2"

	"github.com/switchback-geo/switchback/integration/simulation/plan"
	"github.com/switchback-geo/switchback/integration/simulation/world"
)

// prune lets retention delete records of a source partition that the group has not committed. The engine must report
// them as lost.
func prune() Kind {
	return Kind{
		Name: "prune", Weight: 4, Redoes: redoes(2),
		Draw: func(r *rand.Rand, _ plan.Plan) plan.Fault { return plan.Fault{Count: 1 + r.IntN(30)} },
		Strike: func(w *world.World, f plan.Fault) {
			partition := int32(f.Count) % w.Plan.Cluster.Partitions
			gone, err := w.Prune(partition, int64(f.Count))
			if err != nil {
				w.Tell("retention deletes nothing: %v", err)
				return
			}
			w.Tell("retention deletes %d records of partition %d that are not committed", gone, partition)
		},
	}
}
