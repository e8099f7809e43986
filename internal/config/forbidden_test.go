package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/pkg/classify"
)

const forbiddenFile = `pipeline:
  id: p
  retry_policy:
    base_delay_seconds: 2.0
    %s
  tolerance: {max_null_rate: 0, halt_on_geometry_invalid: false}
enrich:
  - {name: place, set: {place: /name}, http: {url: "http://h/p", %s}}
`

// TestForbidden_S3_6 holds every anti-pattern of the source document, in each form that a file can give it: refused with
// the reason, and with the line and column where it stands.
func TestForbidden_S3_6(t *testing.T) {
	const good = "max_attempts: 5, retryable_status_codes: [503]"
	with := func(text string) string { return strings.ReplaceAll(good, ", ", "\n    ") + "\n    " + text }
	for _, c := range []struct {
		pattern, retry, http string
		path                 string
		line, column         int
		reason               string
	}{
		{"retrying validation failures: a policy", with("policies: {validation: {max_attempts: 2}}"), "", "pipeline.retry_policy.policies.validation", 7, 16, "failed validation"},
		{"retrying validation failures: a rule", with("rules: [{code: missing_required, class: retry_backoff}]"), "", "pipeline.retry_policy.rules[0]", 7, 13, "failed validation"},
		{"retrying validation failures: of a database", with(`rules: [{sqlstate: "23505", class: retry_now}]`), "", "pipeline.retry_policy.rules[0]", 7, 13, "db_constraint"},
		{"retrying validation failures: a status", "max_attempts: 5\n    retryable_status_codes: [503, 422]", "", "pipeline.retry_policy.retryable_status_codes[1]", 6, 35, "422 says"},
		{"retrying validation failures: a key", with("retry_validation: true"), "", "pipeline.retry_policy.retry_validation", 7, 5, "retrying whatever fails"},
		{"retrying governance failures: a policy", with("policies: {governance: {}}"), "", "pipeline.retry_policy.policies.governance", 7, 16, "who may use the data"},
		{"retrying governance failures: a rule", with("rules: [{code: governance_denied, class: retry_after}]"), "", "pipeline.retry_policy.rules[0]", 7, 13, "who may use the data"},
		{"retrying governance failures: a status", "max_attempts: 5\n    retryable_status_codes: [451]", "", "pipeline.retry_policy.retryable_status_codes[0]", 6, 30, "the law"},
		{"retrying schema failures: a policy", with("policies: {schema: {}}"), "", "pipeline.retry_policy.policies.schema", 7, 16, "structures"},
		{"retrying schema failures: a rule", with("rules: [{code: avro_decode, class: retry_backoff}]"), "", "pipeline.retry_policy.rules[0]", 7, 13, "structures"},
		{"retrying schema failures: of a database", with(`rules: [{sqlstate: "42", class: retry_backoff}]`), "", "pipeline.retry_policy.rules[0]", 7, 13, "db_schema"},
		{"retrying non-idempotent side effects", with("jitter: true"), "method: POST", "enrich[0].http.method", 10, 74, "not idempotent"},
		{"infinite retries: -1", "max_attempts: -1\n    retryable_status_codes: [503]", "", "pipeline.retry_policy.max_attempts", 5, 19, "infinite retries"},
		{"infinite retries: 0", "max_attempts: 0\n    retryable_status_codes: [503]", "", "pipeline.retry_policy.max_attempts", 5, 19, "infinite retries"},
		{"infinite retries: a word", "max_attempts: unlimited\n    retryable_status_codes: [503]", "", "pipeline.retry_policy.max_attempts", 5, 19, "infinite retries"},
		{"infinite retries: .inf", "max_attempts: .inf\n    retryable_status_codes: [503]", "", "pipeline.retry_policy.max_attempts", 5, 19, "infinite retries"},
		{"infinite retries: a number as good as that", "max_attempts: 1000000\n    retryable_status_codes: [503]", "", "pipeline.retry_policy.max_attempts", 5, 19, "infinite retries"},
		{"infinite retries: of one category", with("policies: {network: {max_attempts: -1}}"), "", "pipeline.retry_policy.policies.network.max_attempts", 7, 40, "infinite retries"},
		{"infinite retries: a key", with("retry_forever: true"), "", "pipeline.retry_policy.retry_forever", 7, 5, "infinite retries"},
		{"ignoring Retry-After: no limit left", with("retry_after_limit: 0s"), "", "pipeline.retry_policy.retry_after_limit", 7, 24, "ignoring Retry-After"},
		{"ignoring Retry-After: a limit below the own delays", with("retry_after_limit: 30s"), "", "pipeline.retry_policy.retry_after_limit", 7, 24, "ignoring Retry-After"},
		{"ignoring Retry-After: a limit below a category's delays", with("retry_after_limit: 90s\n    policies: {timeout: {preset: wfs}}"), "", "pipeline.retry_policy.retry_after_limit", 7, 24, "ignoring Retry-After"},
		{"ignoring Retry-After: at once", with("rules: [{status: 429, class: retry_now}]"), "", "pipeline.retry_policy.rules[0]", 7, 13, "Retry-After"},
		{"ignoring Retry-After: a key", with("respect_retry_after: false"), "", "pipeline.retry_policy.respect_retry_after", 7, 5, "ignoring Retry-After"},
		{"ignoring Retry-After: a key of a step", with("jitter: true"), "ignore_retry_after: true", "enrich[0].http.ignore_retry_after", 10, 66, "ignoring Retry-After"},
		{"growing concurrency: faster and faster", with("multiplier: 0.5"), "", "pipeline.retry_policy.multiplier", 7, 17, "growing concurrency"},
		{"growing concurrency: of one category", with("policies: {network: {multiplier: 0.9}}"), "", "pipeline.retry_policy.policies.network.multiplier", 7, 38, "growing concurrency"},
		{"growing concurrency: a key", with("concurrency_multiplier: 2"), "", "pipeline.retry_policy.concurrency_multiplier", 7, 5, "growing concurrency"},
	} {
		t.Run(c.pattern, func(t *testing.T) {
			_, err := Parse("p.yaml", fmt.Appendf(nil, forbiddenFile, c.retry, c.http), nil)
			faults, ok := errors.AsType[*Faults](err)
			if !ok {
				t.Fatalf("accepted: %v", err)
			}
			i := slices.IndexFunc(faults.List, func(f Fault) bool { return f.Path == c.path })
			if i < 0 || len(faults.List) != 1 {
				t.Fatalf("want one fault, at %s: %v", c.path, err)
			}
			f := faults.List[i]
			if !strings.Contains(f.Message, "forbidden: ") || !strings.Contains(f.Message, c.reason) || f.Fix == "" {
				t.Errorf("the fault gives neither the reason nor what to do: %s", f.Text("p.yaml"))
			}
			if f.Line != c.line || f.Column != c.column {
				t.Errorf("line %d, column %d, want %d, %d: %s", f.Line, f.Column, c.line, c.column, f.Text("p.yaml"))
			}
		})
	}
}

func TestRules_reach_the_classifier(t *testing.T) {
	p := policyOf(t, `max_attempts: 5, base_delay_seconds: 2, retryable_status_codes: [], rules: [{status: 409, class: retry_backoff, category: conflict}]`)
	c := classify.New(p.Classification())
	if f := c.Of(&classify.HTTPError{Status: 409}); f.Class != classify.RetryBackoff || f.Category != classify.CategoryConflict {
		t.Errorf("%+v", f)
	}
	if f := c.Of(&classify.HTTPError{Status: 503}); f.Class != classify.Permanent {
		t.Errorf("an empty list of retryable statuses makes 503 %s", f.Class)
	}
}
