package judge

import (
	"slices"
	"strings"
	"time"

	"github.com/switchback-geo/switchback/integration/simulation/plan"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// Verdict returns every violation of a guarantee. In a world that did not come to rest, unfinished records violate no
// guarantee but progress.
func Verdict(e Evidence) []Violation {
	h := newHistory(e)
	for _, why := range e.GaveUp {
		if e.Plan.Has(plan.KindRecreate) && recreated(why) {
			continue
		}
		if !e.Plan.Has(plan.KindDeny) && !e.Plan.Has(plan.KindDenyWrite) || !strings.Contains(why, "AUTHORIZATION_FAILED") {
			h.report(Survival, "", "%s", why)
		}
	}
	if e.Rest < 0 {
		h.report(Progress, "", "after %s, this is unfinished: %s", e.Bound, e.Left)
	}
	h.journeys()
	h.times()
	h.calls()
	h.outcomes()
	h.order()
	h.limits()
	if e.Rest >= 0 {
		h.places()
		h.outputs()
		if e.Plan.Engine.Trail {
			h.trail()
		}
		if e.Plan.Engine.Sink {
			h.table()
		}
	}
	return h.found
}

// recreated reports whether an engine ended because the source has another ID, or is missing.
func recreated(why string) bool {
	return strings.Contains(why, "was deleted and re-created") || strings.Contains(why, "does not exist")
}

// Bound returns how long a world may take to come to rest after the last fault.
func Bound(p plan.Plan) time.Duration {
	e, delays := p.Engine, p.Delays()
	longest := delays[len(delays)-1]
	chain := time.Duration(0) // the waits of a record with the largest number of failures
	for attempt := range e.MaxAttempts - 1 {
		tier := longest
		if len(p.TierLists()) == 1 {
			tier = e.Tiers[min(attempt, len(e.Tiers)-1)]
		}
		chain += max(tier, 15500*time.Millisecond) + 2*time.Second
	}
	bound := 2*time.Minute + 2*e.Session + 2*e.Transaction + 2*chain + handling(p)
	if e.Order == retrytopics.OrderStrict {
		bound += time.Duration(slices.Max(hardest(p))) * (chain + longest)
		if e.OnDeadLetter == retrytopics.OnDeadLetterHoldKey {
			bound *= 2
		}
	}
	return bound
}

// handling returns how long the attempts of a load take at most, if two run at a time, as after a deployment.
func handling(p plan.Plan) (all time.Duration) {
	for n := range p.Load.Records {
		if e := p.Event(n); p.Load.Sends(n) {
			all += e.Takes * time.Duration(p.Engine.MaxAttempts*(1+e.Deaths))
		}
	}
	return all / 2
}

// hardest counts the events of each key that do not succeed at once.
func hardest(p plan.Plan) []int {
	keys := map[string]int{}
	for n := range p.Load.Records {
		if e := p.Event(n); p.Load.Sends(n) && e.Fate != plan.FateDone {
			keys[e.Key] += max(1, e.Deaths)
		}
	}
	counts := []int{0}
	for _, n := range keys {
		counts = append(counts, n)
	}
	return counts
}
