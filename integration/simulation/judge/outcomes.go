package judge

import (
	"github.com/switchback-geo/switchback/integration/simulation/plan"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// outcomes checks that exactly the events that must fail become dead letters, and that no event is closed without a rule
// for it.
func (h *history) outcomes() {
	for _, s := range h.steps {
		if s.Finished() {
			h.outcome(s)
		}
	}
}

func (h *history) outcome(s *step) {
	e := s.in.event
	dies := s.life < e.Deaths && (e.Fate == plan.FatePermanent || e.Fate == plan.FatePanic || e.Fate == plan.FateExhausted)
	switch s.Decision {
	case "delivered":
		if dies || e.Fate == plan.FateFiltered {
			h.report(Conservation, s.Source, "it was delivered in life %d, but its handler never succeeds (%s)", s.life, e.Fate)
		}
	case "dead_lettered":
		if !dies && !h.Plan.Has(plan.KindFailing) {
			h.report(Conservation, s.Source, "it became a dead letter in life %d, but its handler would have finished it (%s)", s.life, e.Fate)
		}
	case "duplicate":
		if s.Key == nil || h.Plan.Engine.Window == 0 {
			h.report(Conservation, s.Source, "it was closed as a duplicate with the key %q and a window of %s", s.key(), h.Plan.Engine.Window)
		}
	case "superseded":
		guarded := h.Plan.Engine.Order == retrytopics.OrderLatestWins || h.Plan.Engine.Order == retrytopics.OrderStrict && s.life > 0
		if s.Key == nil || !guarded {
			h.report(Order, s.Source, "it was closed as superseded with the key %q and order %s", s.key(), h.Plan.Engine.Order)
		}
	case "filtered":
		if e.Fate != plan.FateFiltered {
			h.report(Conservation, s.Source, "it was filtered, but its handler does not filter it (%s)", e.Fate)
		}
	default:
		h.report(Conservation, s.Source, "no handler of the simulation ends with %s", s.Decision)
	}
}
