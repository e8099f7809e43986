package faults

import (
	"math/rand/v2"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/switchback-geo/switchback/integration/simulation/plan"
	"github.com/switchback-geo/switchback/integration/simulation/world"
)

// restart stops all brokers and starts them again with the data on their disks.
func restart() Kind {
	return Kind{
		Name: "restart", Weight: 5, Redoes: redoes(3), Durable: true,
		Draw: func(r *rand.Rand, _ plan.Plan) plan.Fault { return plan.Fault{For: upTo(r, 40*time.Second)} },
		Strike: func(w *world.World, f plan.Fault) {
			w.Tell("the brokers stop for %s", f.For)
			w.Kafka.Down()
			w.Wait(f.For)
			if err := w.Kafka.Up(); err != nil {
				panic(err) // the data cannot be read
			}
			w.Tell("the brokers are back")
		},
	}
}

// The kinds of change of leaders.
const (
	shuffled    = "leaders"      // every partition gets another leader
	coordinated = "coordinators" // groups and transactional IDs get other coordinators
	noded       = "node"         // a broker is added and removed again
)

// leaders changes the leaders of partitions or the coordinators.
func leaders() Kind {
	return Kind{
		Name: "leaders", Weight: 6, Redoes: redoes(3),
		Draw: func(r *rand.Rand, _ plan.Plan) plan.Fault {
			return plan.Fault{What: pick(r, shuffled, coordinated, noded), For: upTo(r, 10*time.Second)}
		},
		Strike: func(w *world.World, f plan.Fault) {
			w.Tell("the cluster changes its %s", f.What)
			switch f.What {
			case shuffled:
				w.Kafka.Do(func(c *kfake.Cluster) { c.ShufflePartitionLeaders() })
			case coordinated:
				w.Kafka.Do(func(c *kfake.Cluster) { c.RehashCoordinators() })
			case noded:
				addNode(w, f.For)
			}
		},
	}
}

func addNode(w *world.World, d time.Duration) {
	node := int32(-1)
	w.Kafka.Do(func(c *kfake.Cluster) {
		if id, _, err := c.AddNode(-1, w.Kafka.NextPort()); err == nil {
			node = id
		}
	})
	if node < 0 {
		return
	}
	w.Wait(d)
	w.Kafka.Do(func(c *kfake.Cluster) {
		if err := c.RemoveNode(node); err == nil {
			w.Tell("broker %d is removed again", node)
		}
	})
}

// clean makes the brokers compact their logs and delete old segments. That must not change the engine's memory.
func clean() Kind {
	return Kind{
		Name: "clean", Weight: 3, Redoes: redoes(0),
		Strike: func(w *world.World, _ plan.Fault) {
			w.Tell("the brokers compact and delete")
			w.Kafka.Do(func(c *kfake.Cluster) { c.Compact(); c.ApplyRetention() })
		},
	}
}
