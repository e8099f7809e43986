package attempt

import (
	"fmt"

	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// check returns an error for an answer that contradicts itself.
func check(r *retrytopics.Result) error {
	if r.Close != "" && !r.Close.Closes() {
		return fmt.Errorf("handler closed the record as %q, want one of duplicate, superseded, filtered, skipped", r.Close)
	}
	for i, out := range r.Outputs {
		if out == nil || out.Topic == "" {
			return fmt.Errorf("handler's output %d has no topic", i)
		}
	}
	return checkParts(r)
}

// checkParts refuses parts with contradictory numbers.
func checkParts(r *retrytopics.Result) error {
	if r.Parts < 0 || r.Parts > r.Of || r.Of > header.MaxParts || len(r.Outputs)+len(r.Failed) > r.Parts && (r.Parts > 0 || len(r.Failed) > 0) {
		return fmt.Errorf("handler reports %d parts of %d, %d outputs and %d failed ones; at most %d are allowed", r.Parts, r.Of, len(r.Outputs), len(r.Failed), header.MaxParts)
	}
	next := 0
	for _, p := range r.Failed {
		if p.Part.Of != r.Of || p.Part.Index < next || p.Part.Index >= r.Of || p.Err == nil || p.Value == nil {
			return fmt.Errorf("handler's failed part %s is not one of %d, occurs twice, or has no error or value", p.Part, r.Of)
		}
		next = p.Part.Index + 1
	}
	return nil
}
