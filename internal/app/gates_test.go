package app

import (
	"errors"
	"testing"

	"github.com/switchback-geo/switchback/internal/tolerance"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// Every outcome of the engine means something for the gates.
func TestOutcomeOf_S1_8_S4_9(t *testing.T) {
	done := tolerance.Outcome{Finished: true}
	for outcome, want := range map[retrytopics.Outcome]tolerance.Outcome{
		retrytopics.OutcomeDelivered: {Finished: true, Delivered: true}, retrytopics.OutcomeDeadLettered: {Finished: true, Dead: true},
		retrytopics.OutcomeRetried: {Transient: true}, retrytopics.OutcomeDuplicate: done, retrytopics.OutcomeSuperseded: done,
		retrytopics.OutcomeFiltered: done, retrytopics.OutcomeSkipped: done,
	} {
		e := event(outcome, 1, retrytopics.Control{})
		if outcome == retrytopics.OutcomeRetried {
			e.Failure.Class = classify.RetryBackoff
		}
		if got, counts := outcomeOf(e); got != want || !counts {
			t.Errorf("%s: %+v, %v", outcome, got, counts)
		}
	}
	if _, counts := outcomeOf(event(retrytopics.OutcomeParked, 1, retrytopics.Control{})); counts {
		t.Error("parking is no attempt")
	}
	exhausted := event(retrytopics.OutcomeDeadLettered, 5, retrytopics.Control{})
	exhausted.Failure.Class = classify.RetryBackoff
	if got, _ := outcomeOf(exhausted); got != (tolerance.Outcome{Transient: true, Finished: true, Dead: true}) {
		t.Errorf("the last of many attempts: %+v", got)
	}
}

// S3-3, "I/O boundary error: once, then block": a category that blocks holds the pipeline once the attempts are used up, and
// not before; all others end in the DLQ.
func TestHolds_S3_3_onceTheAttemptsAreUsedUp(t *testing.T) {
	tolerated := parse(t, "").Pipeline.Tolerance
	for _, category := range classify.Categories() {
		for _, reason := range retrytopics.Reasons() {
			f := classify.Failure{Class: classify.RetryBackoff, Code: classify.CodeIOFailed, Level: classify.LevelTransient, Category: category}
			want := category == classify.CategoryIO && reason == retrytopics.ReasonExhausted
			if got := tolerated.Holds(f, reason); got != want {
				t.Errorf("%s, %s: holds %v", category, reason, got)
			}
		}
	}
	listed := parseTolerance(t, "hold_on: [io_failed]").Pipeline.Tolerance
	if !listed.Holds(classify.Failure{Code: classify.CodeIOFailed, Category: classify.CategoryIO}, retrytopics.ReasonTransient) {
		t.Error("a code of hold_on holds at the first failure")
	}
}

func TestHoldsAtOnce_S0_9_S4_1(t *testing.T) {
	const halts = "\nhalt"
	for name, c := range map[string]struct {
		keys  string
		code  classify.Code
		level classify.Level
		want  bool
	}{
		"S0-9 precision degraded":                  {"", classify.CodePrecisionDegraded, classify.LevelRow, true},
		"S0-9 empty mandatory foreign key":         {"", classify.CodeForeignKeyEmpty, classify.LevelRow, true},
		"S0-9 unresolved foreign key":              {"", classify.CodeForeignKeyUnresolved, classify.LevelRow, false},
		"an own list is the whole list":            {"hold_on: [http_forbidden]", classify.CodePrecisionDegraded, classify.LevelRow, false},
		"listed":                                   {"hold_on: [http_forbidden]", classify.CodeHTTPForbidden, classify.LevelPermanent, true},
		"S4-1 nothing can go on":                   {"hold_on: []", classify.CodeUnknown, classify.LevelPipeline, true},
		"S0-2 invalid geometry is one dead letter": {"", classify.CodeGeometryInvalid, classify.LevelRow, false},
		"S0-2 halt_on_geometry_invalid":            {halts, classify.CodeGeometryInvalid, classify.LevelRow, true},
		"S0-2 halts on a geometry not simple":      {halts, classify.CodeGeometryNotSimple, classify.LevelRow, true},
		"S0-2 halts on nothing else":               {halts, classify.CodeMissingRequired, classify.LevelRow, false},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := parse(t, "")
			if c.keys == halts {
				cfg.Pipeline.Tolerance.HaltOnGeometryInvalid = true
			} else if c.keys != "" {
				cfg = parseTolerance(t, c.keys)
			}
			f := classify.Failure{Code: c.code, Level: c.level, Err: errors.New("x")}
			if got := cfg.Pipeline.Tolerance.HoldsAtOnce(f); got != c.want {
				t.Errorf("holds: %v", got)
			}
		})
	}
}
