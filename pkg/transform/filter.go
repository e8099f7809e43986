package transform

import (
	"strconv"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/internal/shorten"
	"github.com/switchback-geo/switchback/pkg/transform/internal/expression"
)

// FilteredError means that the config's filter excludes a feature. That is not a failure: the record is done, and
// nothing is written for it.
type FilteredError struct {
	// Feature is the source id, "" when there is none.
	Feature string

	// Expression is the filter.
	Expression string
}

// Error returns one line.
func (e *FilteredError) Error() string {
	text := "the filter " + strconv.Quote(shorten.Text(e.Expression)) + " leaves the feature out"
	if e.Feature != "" {
		text += ", feature " + strconv.Quote(shorten.Text(e.Feature))
	}
	return text
}

// compileFilter compiles the filter; it returns nil if there is none.
func compileFilter(text string, faults *faultList) *expression.Program[expression.Feature] {
	if text == "" {
		return nil
	}
	filter, err := expression.CompileCondition[expression.Feature](text)
	switch {
	case err != nil:
		faults.add("filter", err.Error(), "correct the expression; it has id, properties and geometry, and is true or false")
	case filter.Reads.Nothing():
		faults.add("filter", "the filter reads no value of the feature, so it keeps all or none", "name what it depends on, or remove it")
	}
	return filter
}

// checkFilter returns a [*FilteredError] for a feature that the filter excludes.
func (t *Transformer) checkFilter(f *Feature) error {
	if t.filter == nil {
		return nil
	}
	result, err := eval(t.filter, f)
	if err != nil || result.Kind() != KindBoolean {
		e := &Error{Code: classify.CodeExpressionFailed, Message: "the filter is neither true nor false", Fix: "check for values that may be missing: properties.x != nil && …"}
		if err != nil {
			e = evalError(err)
			e.Fix = "check for values that may be missing: properties.x != nil && …"
		}
		e.Stage, e.Rule, e.RuleLine, e.Feature = classify.StageGate, "filter", t.config.Lines["filter"], f.IDString()
		return e
	}
	if !result.Bool() {
		return &FilteredError{Feature: f.IDString(), Expression: t.filter.Text}
	}
	return nil
}
