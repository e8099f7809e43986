package faults

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/switchback-geo/switchback/integration/simulation/plan"
	"github.com/switchback-geo/switchback/integration/simulation/world"
)

// deny revokes a permission to read, or the one for the group or the transactional ID, for a while. The engine ends and
// is started again until the permission is back.
func deny() Kind {
	return denial(plan.KindDeny, "read "+world.Source, "read group", "write transaction")
}

// denyWrite revokes the permission to write a topic for a while.
func denyWrite() Kind {
	return denial(plan.KindDenyWrite, "write "+world.Output, "write "+world.DLQ, "write "+world.Source+".state")
}

// denial returns a kind that revokes one of some permissions, each as "<operation> <resource>".
func denial(name string, from ...string) Kind {
	return Kind{
		Name: name, Weight: 4,
		Redoes: func(f plan.Fault) int { return 2 + int(f.For/world.RestartAfter) },
		Draw: func(r *rand.Rand, _ plan.Plan) plan.Fault {
			return plan.Fault{What: pick(r, from...), For: upTo(r, 40*time.Second)}
		},
		Strike: func(w *world.World, f plan.Fault) {
			fault, err := parseDeny(f.What)
			if err != nil {
				w.Tell("%v", err)
				return
			}
			w.Tell("the permission %s is revoked for %s", f.What, f.For)
			w.Kafka.Hold(fault, func() { w.Wait(f.For) })
			w.Tell("the permission %s is back", f.What)
		},
	}
}

func parseDeny(what string) (kfake.Fault, error) {
	operation, resource, _ := strings.Cut(what, " ")
	fault := kfake.Fault{Count: -1}
	switch {
	case what == "read group":
		fault.Err, fault.Group = kerr.GroupAuthorizationFailed, world.Group
		fault.Keys = []kmsg.Key{kmsg.JoinGroup, kmsg.SyncGroup, kmsg.Heartbeat, kmsg.OffsetFetch, kmsg.TxnOffsetCommit}
	case what == "write transaction":
		fault.Err = kerr.TransactionalIDAuthorizationFailed
		fault.Keys = []kmsg.Key{kmsg.InitProducerID, kmsg.EndTxn, kmsg.TxnOffsetCommit, kmsg.AddOffsetsToTxn, kmsg.AddPartitionsToTxn}
	case operation == "read":
		fault.Err, fault.Topic, fault.Keys = kerr.TopicAuthorizationFailed, resource, []kmsg.Key{kmsg.Fetch, kmsg.TxnOffsetCommit}
	case operation == "write":
		fault.Err, fault.Topic, fault.Keys = kerr.TopicAuthorizationFailed, resource, []kmsg.Key{kmsg.Produce, kmsg.AddPartitionsToTxn}
	default:
		return fault, fmt.Errorf("permission %q: want read or write, and its resource", what)
	}
	return fault, nil
}
