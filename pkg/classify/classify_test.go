package classify_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
)

// coded imitates errors of other packages.
type coded struct {
	code  classify.Code
	stage classify.Stage
	cause error
}

func (c coded) Error() string                { return "coded" }
func (c coded) Unwrap() error                { return c.cause }
func (c coded) FailureCode() classify.Code   { return c.code }
func (c coded) FailureStage() classify.Stage { return c.stage }

// sqlError imitates errors of PostgreSQL drivers.
type sqlError string

func (e sqlError) Error() string    { return "sql" }
func (e sqlError) SQLState() string { return string(e) }

func status(code int) error {
	return &classify.HTTPError{Status: code, Method: "GET", URL: "http://h/p"}
}

func wrapped(err error) error {
	return fmt.Errorf("place: %w", &url.Error{Op: "Get", URL: "http://h", Err: err})
}

func TestOf(t *testing.T) {
	type row struct {
		name  string
		err   error
		class classify.Class
		level classify.Level
		code  classify.Code
	}
	const (
		now, backoff, after = classify.RetryNow, classify.RetryBackoff, classify.RetryAfter
		permanent, bad      = classify.Permanent, classify.Row
		passing             = classify.LevelTransient
	)
	for _, r := range []row{
		{"S2-3_503_is_not_429", status(503), backoff, passing, "http_unavailable"},
		{"S4-3_410_row_level", status(410), bad, classify.LevelRow, "http_not_found"},
		{"in_neither_list_5xx", status(507), permanent, classify.LevelPermanent, "http_server_error"},
		{"status_that_does_not_exist", status(0), permanent, classify.LevelPermanent, "unknown"},

		{"S4-3_network_timeout_syscall", wrapped(&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ETIMEDOUT)}), backoff, passing, "timeout"},
		{"S4-3_network_timeout_deep", wrapped(fmt.Errorf("more: %w", slow{})), backoff, passing, "timeout"},
		{"S4-3_network_timeout_joined", errors.Join(errors.New("first"), slow{}), backoff, passing, "timeout"},
		{"S1-2_dns_timeout", wrapped(&net.OpError{Op: "dial", Err: &net.DNSError{Name: "h", IsTimeout: true}}), backoff, passing, "dns"},
		{"S1-2_host_unreachable", syscall.EHOSTUNREACH, backoff, passing, "network"},
		{"bare_end_of_file", io.EOF, permanent, classify.LevelPermanent, "unknown"},

		{"S1-2_decode", coded{code: classify.CodeNotJSON, stage: classify.StageDecode}, bad, classify.LevelRow, "not_json"},
		{"S1-2_decode_keeps_its_code_over_the_cause", coded{code: classify.CodeTruncatedJSON, cause: io.ErrUnexpectedEOF}, bad, classify.LevelRow, "truncated_json"},
		{"S1-4_unknown_crs", coded{code: classify.CodeUnknownCRS, stage: classify.StageGate}, bad, classify.LevelRow, "unknown_crs"},
		{"malformed_header", coded{code: classify.CodeMalformedHeader, stage: classify.StageHeader}, bad, classify.LevelRow, "malformed_header"},
		{"code_outside_the_list", coded{code: "invented"}, permanent, classify.LevelPermanent, "unknown"},
		{"code_outside_the_list_hides_its_cause", coded{code: "", cause: status(503)}, permanent, classify.LevelPermanent, "unknown"},
		{"S4-15_panic_with_an_error", &classify.PanicError{Value: context.DeadlineExceeded}, bad, classify.LevelRow, "panic"},
		{"S4-2_unknown", errors.New("connection refused, timeout, 503"), permanent, classify.LevelPermanent, "unknown"},
	} {
		t.Run(r.name, func(t *testing.T) {
			f := classify.Of(r.err)
			expect.That(t, f.Class == r.class && f.Level == r.level && f.Code == r.code, "%v is %s, %s, %s; want %s, %s, %s", r.err, f.Class, f.Level, f.Code, r.class, r.level, r.code)
			expect.That(t, errors.Is(f.Err, r.err), "the failure holds %v instead of the error itself", f.Err)
		})
	}
}

type slow struct{}

func (slow) Error() string { return "slow" }
func (slow) Timeout() bool { return true }

func TestStatusLists(t *testing.T) {
	for _, r := range []struct {
		name    string
		options classify.Options
		status  int
		class   classify.Class
	}{
		{"S0-3_500_listed_as_retryable_leaves_the_default_terminal_list", classify.Options{RetryableStatus: []int{500}}, 500, classify.RetryBackoff},
		{"S0-3_404_listed_as_retryable", classify.Options{RetryableStatus: []int{404}}, 404, classify.RetryBackoff},
		{"S0-2_503_not_listed", classify.Options{RetryableStatus: []int{429}}, 503, classify.Permanent},
		{"S0-2_429_not_listed", classify.Options{RetryableStatus: []int{503}}, 429, classify.Permanent},
		{"S0-2_429_listed", classify.Options{RetryableStatus: []int{429}}, 429, classify.RetryAfter},
		{"S0-2_none_listed", classify.Options{RetryableStatus: []int{}}, 503, classify.Permanent},
		{"S0-3_terminal_gives_way_to_nothing", classify.Options{TerminalStatus: []int{503}}, 503, classify.Permanent},
		{"S0-3_in_both_lists_is_not_tried_again", classify.Options{RetryableStatus: []int{503}, TerminalStatus: []int{503}}, 503, classify.Permanent},
		{"S0-3_own_terminal_list_leaves_404_to_the_row", classify.Options{TerminalStatus: []int{400, 401}}, 404, classify.Row},
		{"S0-3_408_in_neither_list", classify.Options{}, 408, classify.Permanent},
		{"S0-3_408_listed", classify.Options{RetryableStatus: []int{408}}, 408, classify.RetryBackoff},
	} {
		t.Run(r.name, func(t *testing.T) {
			expect.Equal(t, classify.New(r.options).Of(status(r.status)).Class, r.class, "class")
		})
	}
}

// Only the listed statuses are retried, and the fields of each failure are coherent.
func TestEveryStatus(t *testing.T) {
	c := classify.New(classify.Options{})
	for code := range 1000 {
		f := c.Of(&classify.HTTPError{Status: code, RetryAfter: time.Second})
		coherent(t, f)
		listed := slices.Contains(classify.DefaultRetryableStatus(), code)
		success := 200 <= code && code < 300
		expect.That(t, f.Transient() == (listed || success), "%d: transient is %v", code, f.Transient())
		expect.That(t, !listed || f.RetryAfter == time.Second, "%d: Retry-After became %v", code, f.RetryAfter)
	}
}

func TestOptionsAreCopied(t *testing.T) {
	mine := []int{503}
	c := classify.New(classify.Options{RetryableStatus: mine})
	mine[0] = 404
	f := c.Of(status(503))
	expect.That(t, f.Transient(), "the classifier reads the caller's list after New")
}

func TestStage(t *testing.T) {
	inner := errors.New("inner")
	for _, r := range []struct {
		name string
		err  error
		want classify.Stage
	}{
		{"unmarked", inner, classify.StageHandler},
		{"marked", classify.WithStage(classify.StageEnrich, inner), classify.StageEnrich},
		{"the_mark_nearest_to_the_cause", classify.WithStage(classify.StageHandler, fmt.Errorf("x: %w", classify.WithStage(classify.StageEnrich, inner))), classify.StageEnrich},
		{"its_own_word_over_a_mark", classify.WithStage(classify.StageEnrich, coded{code: classify.CodeNotJSON, stage: classify.StageDecode}), classify.StageDecode},
		{"its_own_word_is_none", classify.WithStage(classify.StageEnrich, coded{code: classify.CodeNotJSON}), classify.StageEnrich},
		{"a_mark_outside_the_list", classify.WithStage("lunch", inner), classify.StageHandler},
	} {
		expect.Equal(t, classify.Of(r.err).Stage, r.want, r.name, "stage")
	}
	marked := classify.WithStage(classify.StageEnrich, inner)
	expect.That(t, errors.Is(marked, inner) && marked.Error() == inner.Error(), "a mark must change neither the chain nor the message")
	expect.That(t, classify.WithStage(classify.StageEnrich, nil) == nil && classify.WithClass(classify.Row, nil) == nil, "no error must stay no error")
}

func TestWithClass(t *testing.T) {
	quota := errors.New("quota used up")
	f := classify.Of(classify.WithClass(classify.RetryBackoff, quota))
	expect.That(t, f.Transient() && f.Level == classify.LevelTransient && f.Code == classify.CodeUnknown, "a marked error is %+v", f)
	f = classify.Of(classify.WithClass(classify.Row, status(503)))
	expect.That(t, f.Class == classify.Row && f.Code == classify.CodeHTTPUnavailable, "a mark must win over the table: %+v", f)
	expect.Equal(t, classify.Of(classify.WithClass("maybe", quota)).Class, classify.Permanent, "a class outside the list must not count")
	stopped := classify.WithClass(classify.Permanent, &classify.HTTPError{Status: 429, RetryAfter: time.Minute})
	expect.Equal(t, classify.Of(stopped).RetryAfter, 0, "a failure that is not retried has a retry-after delay")
}

// coherent checks what must hold for every failure.
func coherent(t *testing.T, f classify.Failure) {
	t.Helper()
	switch {
	case !slices.Contains(classify.Classes(), f.Class), !slices.Contains(classify.Levels(), f.Level),
		!slices.Contains(classify.Codes(), f.Code), !slices.Contains(classify.Stages(), f.Stage):
		t.Errorf("a word outside its list: %+v", f)
	case f.Transient() != (f.Level == classify.LevelTransient):
		t.Errorf("class %s with level %s", f.Class, f.Level)
	case (f.Class == classify.Row) != (f.Level == classify.LevelRow):
		t.Errorf("class %s with level %s", f.Class, f.Level)
	case !f.Transient() && f.RetryAfter != 0, f.RetryAfter < 0:
		t.Errorf("class %s with a delay of %v", f.Class, f.RetryAfter)
	}
}

// S4-10: every combination by which failures are counted is known in advance, for all lists of statuses and rules.
func TestPossible_S4_10_hasWhatFailuresHave(t *testing.T) {
	rules := []classify.Rule{
		{Status: 418, Class: classify.Permanent, Alert: classify.AlertP1},
		{Status: 409, Class: classify.RetryBackoff, Category: classify.CategoryConflict, Alert: classify.AlertP2},
		{SQLState: "23", Class: classify.Row, Alert: classify.AlertP2},
		{Kafka: 10, Class: classify.Permanent, Alert: classify.AlertP4},
		{Code: classify.CodeTLS, Class: classify.RetryBackoff},
	}
	options := classify.Options{RetryableStatus: []int{404, 500, 503}, TerminalStatus: []int{400}, Rules: rules}
	var errs []error
	for status := 300; status < 600; status++ {
		errs = append(errs, &classify.HTTPError{Status: status})
	}
	for _, state := range []string{"23505", "22003", "40P01", "57014", "99999"} {
		errs = append(errs, sqlError(state))
	}
	for _, code := range classify.Codes() {
		errs = append(errs, coded{code: code})
	}
	possible, c := options.Possible(), classify.New(options)
	for _, err := range errs {
		f := c.Of(err)
		if !slices.ContainsFunc(possible, func(e classify.Entry) bool {
			return e.Code == f.Code && e.Category == f.Category && e.Alert == f.Alert
		}) {
			t.Errorf("%v: %s, %s, %s is not foreseen", err, f.Code, f.Category, f.Alert)
		}
	}
	n, plain := len(possible), len(classify.Taxonomy())
	expect.That(t, n <= plain+20, "%d combinations are known in advance, of a table of %d: each is a time series", n, plain)
	got := (classify.Options{}).Possible()
	expect.That(t, slices.Equal(got, classify.Taxonomy()), "without options it is the taxonomy, got %d of %d", len(got), len(classify.Taxonomy()))
}

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
		f := c.Of(fmt.Errorf("x: %w", r.err))
		expect.That(t, f.Class == r.class && f.Category == r.category && f.Alert == r.alert, "%v: %s %s %s, want %s %s %s", r.name, f.Class, f.Category, f.Alert, r.class, r.category, r.alert)
		coherent(t, f)
	}
	expect.Equal(t, c.Of(&classify.HTTPError{Status: 503, RetryAfter: time.Minute}).RetryAfter, 0, "a failure that a rule makes permanent has a retry-after delay")
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
		{"matches nothing", classify.Rule{Stage: classify.StageEnrich, Class: again}, false, "matches no failure"},
		{"no class", classify.Rule{Status: 409}, false, `class "" is none of`},
		{"S3-6 retrying validation failures", classify.Rule{Code: classify.CodeMissingRequired, Class: again}, true, "failed validation"},
		{"S3-6 retrying validation failures of the database", classify.Rule{SQLState: "23", Class: again}, true, "db_constraint"},
		{"S3-6 retrying validation failures of a service", classify.Rule{Status: 422, Class: again}, true, "422 means"},
		{"S3-6 retrying schema failures", classify.Rule{Code: classify.CodeSchemaMismatch, Class: again}, true, "two structures"},
		{"S3-6 retrying schema failures of the database", classify.Rule{SQLState: "42P01", Class: again}, true, "db_schema"},
		{"S3-6 a class of SQLSTATEs with schema failures in it", classify.Rule{SQLState: "42", Class: again}, true, "db_schema"},
		{"an SQLSTATE that the table does not have", classify.Rule{SQLState: "72000", Class: again}, false, ""},
		{"half a class of SQLSTATEs", classify.Rule{SQLState: "4", Class: again}, false, "five characters"},
		{"S3-6 retrying governance failures", classify.Rule{Code: classify.CodeGovernanceDenied, Class: again}, true, "who may use"},
		{"S3-6 retrying what the law forbids", classify.Rule{Status: 451, Class: again}, true, "the law"},
		{"S3-6 ignoring Retry-After", classify.Rule{Status: 429, Class: classify.RetryNow}, true, "Retry-After"},
		{"S3-6 ignoring Retry-After by code", classify.Rule{Code: classify.CodeHTTPUnavailable, Class: classify.RetryNow}, true, "Retry-After"},
		{"S1-9 retrying local computation", classify.Rule{Code: classify.CodeTimeout, Stage: classify.StageTransform, Class: again}, true, "S1-9"},
		{"S4-2 retrying unknown errors", classify.Rule{Code: classify.CodeUnknown, Class: again}, true, "unknown error"},
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

// Every category that is never retried gives a reason, and no other does.
func TestNeverRetried_S3_6_gives_a_reason(t *testing.T) {
	for _, c := range classify.Categories() {
		without := strings.Contains(classify.NeverRetried(c), "is not a category")
		expect.That(t, without == c.Retried(), "%s: %s", c, classify.NeverRetried(c))
	}
}
