package check

import (
	"strings"
)

// checkJourneys: the steps of a record follow each other without a gap, from the
// source through the tiers to one end, and no record of any topic was taken twice.
func (h *History) checkJourneys() {
	taken := map[string]bool{}
	for _, step := range h.steps {
		if taken[step.Position] {
			h.fault(step.Source, "%s was taken twice", step.Position)
		}
		taken[step.Position] = true
	}
	for _, in := range h.source {
		h.checkJourney(in)
	}
}

func (h *History) checkJourney(in *input) {
	if len(in.steps) == 0 {
		h.fault(in.position, "the journal knows nothing of it: it was lost")
		return
	}
	attempts := 0
	for i, step := range in.steps {
		last := i == len(in.steps)-1
		switch {
		case i == 0 && step.Position != in.position:
			h.fault(in.position, "its first step is at %s, not in the source", step.Position)
		case i > 0 && !strings.HasPrefix(step.Position, in.steps[i-1].Destination+"/"):
			h.fault(in.position, "it was put into %s and taken at %s", in.steps[i-1].Destination, step.Position)
		}
		switch {
		case step.Finished() && !last:
			h.fault(in.position, "it went on after it was finished (%s)", step.Decision)
		case !step.Finished() && last:
			h.fault(in.position, "it still waits: the last step is %s", step.Decision)
		}
		if step.Decision == "parked" {
			if !step.Started.IsZero() {
				h.fault(in.position, "it was parked after an attempt")
			}
			continue
		}
		attempts++
		if step.Attempt != attempts {
			h.fault(in.position, "attempt %d is numbered %d", attempts, step.Attempt)
		}
	}
	if attempts > h.pipeline.Attempts {
		h.fault(in.position, "it had %d attempts, %d are allowed", attempts, h.pipeline.Attempts)
	}
}
