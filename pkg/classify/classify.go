package classify

import (
	"cmp"
	"errors"
	"slices"
	"time"
)

// Failure is a classified error.
type Failure struct {
	Class      Class
	Level      Level
	Code       Code
	Category   Category // selects the retry policy; of a transient failure, Category.Retried is true
	Alert      Alert    // how urgent a dead letter of this failure is
	Stage      Stage
	RetryAfter time.Duration // the delay that the other side named; only with a transient class; 0 if it named none
	Firm       bool          // the program itself named RetryAfter (see WithRetryAfter), so no limit cuts it
	Err        error         // the original error
}

// Transient reports whether the failure asks for another attempt.
func (f Failure) Transient() bool { return f.Class.transient() }

// Options are a user's changes to the table: which HTTP statuses are transient (S0-2, S0-3), and rules.
//
// RetryableStatus is the whole list: a status in neither list is not retried, as in the source document. A status that
// is not retried keeps the class of its row in the table: 404 and 410 are the record's fault, all others are permanent.
// A status in both lists is not retried; a configuration should refuse that.
type Options struct {
	// RetryableStatus lists the transient statuses. Nil means 429, 502, 503, 504; empty means none.
	RetryableStatus []int
	// TerminalStatus lists the statuses that are never retried. Nil means 400, 401, 403, 404, 500, without those in
	// RetryableStatus.
	TerminalStatus []int
	// Rules come before the table, the lists and the marks of WithClass; the first match counts. New does not check
	// them: Rule.Fault returns a rule's fault.
	Rules []Rule
	// Unknown is the class of an error without a row in the table. Empty means the table's: Permanent.
	Unknown Class
}

// DefaultRetryableStatus returns the statuses that are retried by default.
func DefaultRetryableStatus() []int { return []int{429, 502, 503, 504} }

// DefaultTerminalStatus returns the statuses that are never retried by default.
func DefaultTerminalStatus() []int { return []int{400, 401, 403, 404, 500} }

// Classifier classifies errors. It is safe for concurrent use.
type Classifier struct {
	retryable []int
	rules     []Rule
	entries   map[Code]Entry
	typed     []condition
	unknown   Class
}

// New returns a classifier. Zero options mean the defaults.
func New(o Options) *Classifier {
	retryable := o.RetryableStatus
	if retryable == nil {
		retryable = DefaultRetryableStatus()
	}
	c := &Classifier{rules: slices.Clone(o.Rules), entries: map[Code]Entry{}, typed: typed(), unknown: o.Unknown}
	for _, e := range Taxonomy() {
		c.entries[e.Code] = e
	}
	for _, status := range retryable {
		if !slices.Contains(o.TerminalStatus, status) { // the caller's retryable statuses override the default terminal list
			c.retryable = append(c.retryable, status)
		}
	}
	return c
}

// Of classifies err, which must not be nil. Call it once, where the error arrives.
func (c *Classifier) Of(err error) Failure {
	entry := c.entries[c.codeOf(err)] // TestTaxonomy_S4_3_is_closed: every code has one
	f := Failure{Class: entry.Class, Code: entry.Code, Alert: entry.Alert, Stage: stageOf(err), Err: err}
	if f.Code == CodeUnknown {
		f.Class = cmp.Or(c.unknown, f.Class)
	}
	c.applyStatusLists(&f)
	applyMark(&f)
	rule := c.rule(f)
	f.Class, f.Alert = cmp.Or(rule.Class, f.Class), cmp.Or(rule.Alert, f.Alert)
	if f.Firm && f.Transient() { // a rule may refuse it, but not shorten it
		f.Class = RetryAfter
	}
	f.Level = f.Class.level()
	if f.Class == entry.Class {
		f.Level = entry.Level
	}
	f.Category = categoryOf(f, entry.Category)
	if f.Transient() {
		f.Category = cmp.Or(rule.Category, f.Category)
	} else {
		f.RetryAfter, f.Firm = 0, false
	}
	return f
}

// applyStatusLists changes the class of an HTTP answer by the lists of statuses, and sets the delay that it named.
// 429 and 503 remain distinct (S2-3): 429 states when to try again, 503 reports an outage. The lists do not apply to
// a successful status that counts as a failure.
func (c *Classifier) applyStatusLists(f *Failure) {
	var answer *HTTPError
	if f.Code == CodePanic || !errors.As(f.Err, &answer) || f.Code != statusCode(answer.Status) {
		return
	}
	f.RetryAfter = max(answer.RetryAfter, 0)
	switch listed := slices.Contains(c.retryable, answer.Status); {
	case listed && !f.Transient():
		f.Class = RetryBackoff
	case !listed && f.Transient() && f.Code != CodeBadResponse:
		f.Class = Permanent
	}
}

// Of classifies err, which must not be nil, with the default lists of HTTP statuses. It makes a Classifier for this one
// error; a caller with many errors should keep one.
func Of(err error) Failure { return New(Options{}).Of(err) }
