package classify_test

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
)

func TestRules_come_first(t *testing.T) {
	c := classify.New(classify.Options{Rules: []classify.Rule{
		{Status: 409, Class: classify.RetryBackoff, Category: classify.CategoryConflict},
		{Code: classify.CodeHTTPNotFound, Stage: classify.StageEnrich, Class: classify.RetryAfter},
		{SQLState: "57014", Class: classify.Row, Alert: classify.AlertP3},
		{SQLState: "57", Class: classify.Permanent},
		{Kafka: 42, Class: classify.RetryBackoff},
		{Code: classify.CodeHTTPUnavailable, Class: classify.Permanent},
		{Code: classify.CodeConnectionRefused, Class: classify.Permanent, Alert: classify.AlertP1},
	}})
	for _, r := range []struct {
		name     string
		err      error
		class    classify.Class
		category classify.Category
		alert    classify.Alert
	}{
		{"a status, with the category of the rule", status(409), classify.RetryBackoff, classify.CategoryConflict, classify.AlertP3},
		{"another status of the same code", status(418), classify.Permanent, classify.CategoryRequest, classify.AlertP3},
		{"a code in its stage", classify.WithStage(classify.StageEnrich, status(404)), classify.RetryAfter, classify.CategoryServer, classify.AlertP4},
		{"a code in another stage", status(404), classify.Row, classify.CategoryRequest, classify.AlertP4},
		{"the first of two SQLSTATE rules", sqlError("57014"), classify.Row, classify.CategoryTimeout, classify.AlertP3},
		{"a class of SQLSTATEs", sqlError("57P01"), classify.Permanent, classify.CategoryDatabase, classify.AlertP2},
		{"a Kafka error", kafkaError(42), classify.RetryBackoff, classify.CategoryOther, classify.AlertP1},
		{"over the list of statuses", status(503), classify.Permanent, classify.CategoryServer, classify.AlertP2},
		{"over a mark", classify.WithClass(classify.RetryNow, syscall.ECONNREFUSED), classify.Permanent, classify.CategoryNetwork, classify.AlertP1},
		{"no rule", syscall.ECONNRESET, classify.RetryBackoff, classify.CategoryNetwork, classify.AlertP2},
	} {
		t.Run(r.name, func(t *testing.T) {
			f := c.Of(fmt.Errorf("x: %w", r.err))
			expect.That(t, f.Class == r.class && f.Category == r.category && f.Alert == r.alert, "%s %s %s, want %s %s %s", f.Class, f.Category, f.Alert, r.class, r.category, r.alert)
			coherent(t, f)
		})
	}
	after := c.Of(&classify.HTTPError{Status: 503, RetryAfter: time.Minute})
	expect.That(t, after.RetryAfter == 0, "what a rule makes permanent has a delay of %v", after.RetryAfter)
}

func TestRule_Fault(t *testing.T) {
	const again = classify.RetryBackoff
	for _, r := range []struct {
		name      string
		rule      classify.Rule
		forbidden bool
		says      string
	}{
		{"good", classify.Rule{Status: 409, Class: again}, false, ""},
		{"a token that is renewed", classify.Rule{Status: 401, Class: again}, false, ""},
		{"never again is always allowed", classify.Rule{Code: classify.CodeNotJSON, Class: classify.Permanent}, false, ""},
		{"names nothing", classify.Rule{Stage: classify.StageEnrich, Class: again}, false, "names no failure"},
		{"no class", classify.Rule{Status: 409}, false, `class "" is none of`},
		{"S3-6 retrying validation failures", classify.Rule{Code: classify.CodeMissingRequired, Class: again}, true, "failed validation"},
		{"S3-6 retrying validation failures of the database", classify.Rule{SQLState: "23", Class: again}, true, "db_constraint"},
		{"S3-6 retrying validation failures of a service", classify.Rule{Status: 422, Class: again}, true, "422 says"},
		{"S3-6 retrying schema failures", classify.Rule{Code: classify.CodeSchemaMismatch, Class: again}, true, "structures"},
		{"S3-6 retrying schema failures of the database", classify.Rule{SQLState: "42P01", Class: again}, true, "db_schema"},
		{"S3-6 a class of SQLSTATEs with schema failures in it", classify.Rule{SQLState: "42", Class: again}, true, "db_schema"},
		{"an SQLSTATE that the table does not have", classify.Rule{SQLState: "72000", Class: again}, false, ""},
		{"half a class of SQLSTATEs", classify.Rule{SQLState: "4", Class: again}, false, "five characters"},
		{"S3-6 retrying governance failures", classify.Rule{Code: classify.CodeGovernanceDenied, Class: again}, true, "who may use"},
		{"S3-6 retrying what the law forbids", classify.Rule{Status: 451, Class: again}, true, "the law"},
		{"S3-6 ignoring Retry-After", classify.Rule{Status: 429, Class: classify.RetryNow}, true, "Retry-After"},
		{"S3-6 ignoring Retry-After by code", classify.Rule{Code: classify.CodeHTTPUnavailable, Class: classify.RetryNow}, true, "Retry-After"},
		{"S1-9 retrying local computation", classify.Rule{Code: classify.CodeTimeout, Stage: classify.StageTransform, Class: again}, true, "S1-9"},
		{"S4-2 retrying the unknown", classify.Rule{Code: classify.CodeUnknown, Class: again}, true, "unknown error"},
		{"a category that never passes", classify.Rule{Status: 409, Class: again, Category: classify.CategoryDefect}, true, "unknown error"},
	} {
		t.Run(r.name, func(t *testing.T) {
			err := r.rule.Fault()
			if r.says == "" {
				expect.That(t, err == nil, "refused: %v", err)
				return
			}
			must.That(t, err != nil && strings.Contains(err.Error(), r.says), "got %v, want %q", err, r.says)
			_, forbidden := errors.AsType[*classify.ForbiddenError](err)
			expect.That(t, forbidden == r.forbidden, "forbidden is %v: %v", forbidden, err)
		})
	}
}

// Every category that never passes says why, and no other does.
func TestNeverRetried_S3_6_gives_a_reason(t *testing.T) {
	for _, c := range classify.Categories() {
		if without := strings.Contains(classify.NeverRetried(c), "is no category"); without != c.Retried() {
			t.Errorf("%s: %s", c, classify.NeverRetried(c))
		}
	}
}
