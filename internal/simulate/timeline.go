package simulate

import (
	"slices"
	"time"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// maxWaits bounds a timeline, whatever the policy says.
const maxWaits = 1000

// timelines returns the waits of a record that always fails in the same way, for every transient failure of the
// scenario.
func timelines(w *world) []Timeline {
	out := []Timeline{}
	for _, r := range w.replies {
		if !r.failure.Transient() || slices.ContainsFunc(out, func(t Timeline) bool { return t.Code == r.failure.Code }) {
			continue
		}
		out = append(out, timeline(w.sys, r.failure))
	}
	return out
}

func timeline(sys System, f classify.Failure) Timeline {
	t := Timeline{Code: f.Code, Waits: []Wait{}}
	var earliest, latest, shortest, longest time.Duration
	for n := 1; n <= maxWaits; n++ {
		least := sys.Decide(policy.Tried{Attempts: n, LastDelay: shortest}, f, start(), func() float64 { return 0 })
		most := sys.Decide(policy.Tried{Attempts: n, LastDelay: longest}, f, start(), func() float64 { return 1 - 1e-9 })
		if least.Outcome != policy.OutcomeRetried {
			t.Reason = least.Reason
			return t
		}
		shortest, longest = least.Due.Sub(start()), most.Due.Sub(start())
		earliest, latest = earliest+shortest, latest+longest
		t.Waits = append(t.Waits, Wait{
			Attempt: n + 1, Least: InSeconds(shortest), Most: InSeconds(longest), Topic: sys.Tiers[least.Tier].Topic,
			Earliest: InSeconds(earliest), Latest: InSeconds(latest),
		})
	}
	return t
}
