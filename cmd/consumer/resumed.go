package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/pkg/classify"
)

// rateCodes are the codes of the gates that --for switches off.
func rateCodes() []control.Code {
	return []control.Code{
		control.CodeNullRate, control.CodeTransientRate, control.CodeDeadLetterRate, control.Code(classify.CodePrecisionDegraded),
	}
}

// resumed says what had paused a resumed pipeline, and when the gates judge again.
func resumed(t config.Tolerance, before, now control.State) string {
	var out strings.Builder
	switch {
	case before.IsHeld():
		fmt.Fprintf(&out, "it was %s\n", before)
	case before.GatesOff.After(now.At):
		fmt.Fprintf(&out, "until now the rate gates were off, by %s: %s\n", before.By, before.Reason)
	}
	if !now.GatesOff.IsZero() {
		fmt.Fprintf(&out, "the rate gates are off until %s; a person, hold_on and permanent causes pause the pipeline all the same\n"+
			"consumer resume without --for, or consumer pause, ends that\n", now.GatesOff.UTC().Format(time.RFC3339))
		return out.String()
	}
	fmt.Fprintf(&out, "the windows of the gates are empty; each instance judges again from %d records on, over %s (pipeline.tolerance)\n", t.MinRecords, t.Window)
	if slices.Contains(rateCodes(), before.Code) && before.IsHeld() {
		fmt.Fprint(&out, "if it is paused again and is to go on all the same: consumer resume --for 10m --reason …\n")
	}
	return out.String()
}
