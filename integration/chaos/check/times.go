package check

import (
	"slices"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/topiclog"
)

// headerDue is written out here a second time on purpose: a wrong constant in the
// software must not pass its own check.
const headerDue = "switchback-due"

// checkTimes: no attempt begins before the time in its record's header, and the
// header is not before what the delay asked for.
func (h *History) checkTimes() { //nolint:gocognit // one walk along each record's steps, read from top to bottom
	for _, in := range h.source {
		for i, step := range in.steps {
			if step.Decision != "parked" && step.Started.IsZero() {
				h.fault(in.position, "%s without an attempt", step.Decision)
			}
			if i == 0 {
				continue
			}
			before := in.steps[i-1]
			if !step.Due.Equal(before.Next) {
				h.fault(in.position, "put back until %v, the header said %v", before.Next, step.Due)
			}
			if step.Decision != "parked" && step.Started.Before(step.Due) {
				h.fault(in.position, "attempt %d began %v before it was due", step.Attempt, step.Due.Sub(step.Started))
			}
			for _, r := range h.waited[step.Position] {
				if text, n := topiclog.Header(r, headerDue); n != 1 || !sameTime(text, step.Due) {
					h.fault(in.position, "%s has %d headers %s, %q; the worker read %v", step.Position, n, headerDue, text, step.Due)
				}
			}
		}
		for _, step := range in.steps {
			if step.Decision != "retried" {
				continue
			}
			if delay := h.pipeline.Tiers[min(step.Attempt, len(h.pipeline.Tiers))-1].Delay; step.Next.Before(step.Started.Add(delay)) {
				h.fault(in.position, "attempt %d failed at about %v and is due again at %v, less than %v later", step.Attempt, step.Started, step.Next, delay)
			}
		}
	}
}

func sameTime(text string, at time.Time) bool {
	parsed, err := time.Parse(time.RFC3339, text)
	return err == nil && parsed.Equal(at)
}

// Lateness gives a quantile (0 to 1) of the time from due to the start of the
// attempt, and over how many attempts it is taken.
func (h *History) Lateness(q float64) (late time.Duration, of int) {
	return h.LatenessSince(time.Time{}, q)
}

// LatenessSince is Lateness of the attempts that were due after a time.
func (h *History) LatenessSince(since time.Time, q float64) (late time.Duration, of int) {
	var all []time.Duration
	for _, step := range h.steps {
		if step.Due.After(since) && !step.Started.IsZero() {
			all = append(all, step.Started.Sub(step.Due))
		}
	}
	if len(all) == 0 {
		return 0, 0
	}
	slices.Sort(all)
	return all[int(q*float64(len(all)-1))], len(all)
}
