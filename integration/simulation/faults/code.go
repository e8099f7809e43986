package faults

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/switchback-geo/switchback/integration/simulation/plan"
	"github.com/switchback-geo/switchback/integration/simulation/world"
)

// code lets brokers answer some requests with an error code.
func code() Kind {
	return Kind{
		Name: "code", Weight: 12, Redoes: redoes(3),
		Draw: func(r *rand.Rand, _ plan.Plan) plan.Fault {
			what := []string{kmsg.NameForKey(int16(pick(r, codeRequests()...))), pick(r, codeErrors()...).Message}
			if r.IntN(2) == 0 {
				what = append(what, "top")
			}
			return plan.Fault{What: strings.Join(what, " "), Count: 1 + r.IntN(3)}
		},
		Strike: func(w *world.World, f plan.Fault) {
			fault, err := parseCode(f)
			if err != nil {
				w.Tell("%v", err)
				return
			}
			w.Tell("brokers answer %s, %d times", f.What, f.Count)
			w.Kafka.Do(func(c *kfake.Cluster) { c.Fault(fault) })
		},
	}
}

// parseCode parses "<request> <error> [top]".
func parseCode(f plan.Fault) (kfake.Fault, error) {
	words := strings.Fields(f.What)
	if len(words) < 2 {
		return kfake.Fault{}, fmt.Errorf("code %q: want a request and an error", f.What)
	}
	fault := kfake.Fault{Count: f.Count, TopLevel: len(words) == 3}
	for _, key := range codeRequests() {
		if kmsg.NameForKey(int16(key)) == words[0] {
			fault.Keys = []kmsg.Key{key}
		}
	}
	for _, e := range codeErrors() {
		if e.Message == words[1] {
			fault.Err = e
		}
	}
	if fault.Keys == nil || fault.Err == nil {
		return fault, fmt.Errorf("code %q: the request or the error is unknown", f.What)
	}
	return fault, nil
}

func codeRequests() []kmsg.Key {
	return []kmsg.Key{
		kmsg.TxnOffsetCommit, kmsg.EndTxn, kmsg.Heartbeat, kmsg.JoinGroup, kmsg.SyncGroup, kmsg.OffsetFetch, kmsg.Fetch,
		kmsg.InitProducerID, kmsg.Produce, kmsg.Metadata, kmsg.ListOffsets, kmsg.FindCoordinator, kmsg.DeleteRecords,
	}
}

func codeErrors() []*kerr.Error {
	return []*kerr.Error{
		kerr.NotCoordinator, kerr.CoordinatorLoadInProgress, kerr.CoordinatorNotAvailable, kerr.RequestTimedOut,
		kerr.ConcurrentTransactions, kerr.UnknownServerError, kerr.NotLeaderForPartition, kerr.RebalanceInProgress,
		kerr.IllegalGeneration, kerr.UnknownMemberID, kerr.NotEnoughReplicas, kerr.KafkaStorageError, kerr.LeaderNotAvailable,
	}
}
