package judge

import (
	"math"
	"strings"
	"time"

	"github.com/switchback-geo/switchback/integration/simulation/plan"
	"github.com/switchback-geo/switchback/internal/testkit/topiclog"
)

// journeys checks that the steps of each record follow each other without a gap, from the source through the tiers to
// one end, and that no record of any topic was read twice. A replay begins another life.
func (h *history) journeys() {
	taken := map[string]bool{}
	for _, s := range h.steps {
		if taken[s.Position] {
			h.report(ExactlyOnce, s.Source, "%s was read twice", s.Position)
		}
		taken[s.Position] = true
	}
	for _, in := range h.inputs {
		h.journey(in)
	}
}

func (h *history) journey(in *input) {
	if len(in.steps) == 0 {
		if h.Rest >= 0 {
			h.report(Conservation, in.position, "it was lost: the journal has no step of it")
		}
		return
	}
	attempts := 0
	for i, s := range in.steps {
		first := i == 0 || s.life != in.steps[i-1].life
		if first {
			attempts = 0
			h.begins(in, i, s)
		} else if before := in.steps[i-1]; !strings.HasPrefix(s.Position, before.Destination+"/") {
			h.report(Conservation, in.position, "it was written to %s and read at %s", before.Destination, s.Position)
		}
		if s.Decision != "parked" {
			attempts++
		}
		switch {
		case s.Decision == "parked" && !s.Started.IsZero() && !h.Plan.Has(plan.KindClock): // a clock that was set back while an open breaker undid the attempt
			h.report(NeverEarly, in.position, "it was parked after an attempt")
		case s.Decision != "parked" && s.Attempt != attempts:
			h.report(Conservation, in.position, "attempt %d is numbered %d", attempts, s.Attempt)
		case s.Decision != "parked" && attempts > h.Plan.Engine.MaxAttempts:
			h.report(Calls, in.position, "attempt %d, but only %d are allowed", attempts, h.Plan.Engine.MaxAttempts)
		}
	}
	if last := in.last(); h.Rest >= 0 && !last.Finished() {
		h.report(Conservation, in.position, "it was lost: the last step is %s", last)
	}
}

// begins checks the first step of a life.
func (h *history) begins(in *input, i int, s *step) {
	switch {
	case i == 0 && s.Position != in.position:
		h.report(Conservation, in.position, "its first step is at %s, not in the source", s.Position)
	case i > 0 && !in.steps[i-1].Finished():
		h.report(Conservation, in.position, "it was replayed while it waited: %s", in.steps[i-1])
	}
}

// times checks that no attempt begins before the time in its record's header, and that this time is not earlier than the
// delay requires.
func (h *history) times() {
	for _, c := range h.Evidence.Calls {
		if c.At.Before(c.Due) {
			h.report(NeverEarly, c.Source, "attempt %d began on %s at %s, %v before it was due", c.Attempt, c.Instance, c.At.UTC().Format(time.TimeOnly), c.Due.Sub(c.At))
		}
	}
	due := h.due()
	for _, in := range h.inputs {
		for i, s := range in.steps {
			if at, waits := due[s.Position]; waits && !at.Equal(s.Due) {
				h.report(NeverEarly, in.position, "it is due at %v by its header at %s, but the instance read %v", at, s.Position, s.Due)
			}
			if i > 0 && s.life == in.steps[i-1].life && !s.Due.Equal(in.steps[i-1].Next) {
				h.report(NeverEarly, in.position, "put back until %v, but the header has %v", in.steps[i-1].Next, s.Due)
			}
			if s.Decision == "retried" && !h.Plan.Has(plan.KindClock) { // a clock may be set during the attempt
				h.waits(s)
			}
		}
	}
}

// due returns when each record that is left in a tier's log is due by its header, or the zero time if the header is
// invalid.
func (h *history) due() map[string]time.Time {
	due := map[string]time.Time{}
	for _, tier := range h.Topics.Tiers {
		for _, r := range h.Logs[tier] {
			text, n := topiclog.Header(r, headerDue)
			at, err := time.Parse(time.RFC3339, text)
			if n != 1 || err != nil {
				at = time.Time{}
			}
			due[topiclog.Position(r)] = at
		}
	}
	return due
}

// waits checks that a failed record is due no sooner than the delay of its tier, or the wait that the failure
// requested.
func (h *history) waits(s *step) {
	delay := time.Duration(math.MaxInt64)
	for _, tiers := range h.Plan.TierLists() { // any of them may have been in force
		delay = min(delay, tiers[min(s.Attempt, len(tiers))-1])
	}
	asks := s.in.event.Asks
	if asks > 0 && (s.in.event.Fate == plan.FateTransient || s.in.event.Fate == plan.FateExhausted) {
		delay = min(asks, delay) // the failure requested a wait, unless it was a different one
	}
	if s.Next.Before(s.Started.Add(delay)) {
		h.report(NeverEarly, s.Source, "attempt %d began at %v, failed, and is due again at %v, less than %v later", s.Attempt, s.Started, s.Next, delay)
	}
}

// calls checks the bound on the number of attempts.
func (h *history) calls() {
	counts := map[string]int{}
	for _, c := range h.Evidence.Calls {
		counts[c.Source]++
	}
	for _, in := range h.inputs {
		bound := (1+in.replays)*h.Plan.Engine.MaxAttempts + h.Repeats
		if n := counts[in.position]; n > bound {
			h.report(Calls, in.position, "its handler was called %d times, at most %d are allowed", n, bound)
		}
	}
}
