package classify

import (
	"errors"
	"slices"
	"time"
)

// Failure is what is known about one error after classification.
type Failure struct {
	Class      Class
	Level      Level
	Code       Code
	Category   Category // what the retry policy is chosen by; of a transient failure one that passes (Category.Retried)
	Alert      Alert    // how urgent a dead letter of this failure is
	Stage      Stage
	RetryAfter time.Duration // what the other side asked for; only with a transient class; 0 when it said nothing
	Firm       bool          // RetryAfter is the program's own word (see WithRetryAfter), which no limit cuts
	Err        error         // as it was given
}

// Transient tells whether the failure asks for another try.
func (f Failure) Transient() bool { return f.Class.transient() }

// Options are what a user says over the table: which HTTP statuses pass by themselves (S0-2, S0-3), and rules.
//
// The list of retryable ones is the whole list: a status in neither list is not tried again, as in the source document.
// A status that is not tried again keeps the class of its row in the table: 404 and 410 are the record's fault, all
// others are permanent. A status that is in both lists is not tried again; a configuration should refuse that.
type Options struct {
	// RetryableStatus lists the statuses that pass. Nil means 429, 502, 503, 504; empty means none.
	RetryableStatus []int
	// TerminalStatus lists the statuses that never pass. Nil means 400, 401, 403, 404, 500, without those that
	// RetryableStatus lists.
	TerminalStatus []int
	// Rules come before the table, the lists and the marks of WithClass; the first that fits counts. New takes them as
	// they are: Rule.Fault says what is wrong with one.
	Rules []Rule
	// Unknown is the class of an error that no row of the table knows. Empty means that of the table: Permanent.
	Unknown Class
}

// DefaultRetryableStatus gives the statuses that are tried again unless Options say otherwise.
func DefaultRetryableStatus() []int { return []int{429, 502, 503, 504} }

// DefaultTerminalStatus gives the statuses that are never tried again unless Options say otherwise.
func DefaultTerminalStatus() []int { return []int{400, 401, 403, 404, 500} }

// Classifier classifies errors. It may be used by many goroutines at once.
type Classifier struct {
	retryable []int
	rules     []Rule
	entries   map[Code]Entry
	typed     []condition
	unknown   Class
}

// New makes a classifier. Zero options mean the defaults.
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
		if !slices.Contains(o.TerminalStatus, status) { // the default terminal list gives way
			c.retryable = append(c.retryable, status)
		}
	}
	return c
}

// Of classifies err, which must not be nil. It is meant to be called once, where the error arrives.
func (c *Classifier) Of(err error) Failure {
	entry := c.entries[c.codeOf(err)] // TestTaxonomy_S4_3_is_closed: every code has one
	f := Failure{Class: entry.Class, Code: entry.Code, Alert: entry.Alert, Stage: stageOf(err), Err: err}
	if f.Code == CodeUnknown {
		f.Class = orElse(c.unknown, f.Class)
	}
	c.answer(&f)
	mark(&f)
	rule := c.rule(f)
	f.Class, f.Alert = orElse(rule.Class, f.Class), orElse(rule.Alert, f.Alert)
	if f.Firm && f.Transient() { // a rule may refuse it, and not hurry it
		f.Class = RetryAfter
	}
	f.Level = f.Class.level()
	if f.Class == entry.Class {
		f.Level = entry.Level
	}
	f.Category = categoryOf(f, entry.Category)
	if f.Transient() {
		f.Category = orElse(rule.Category, f.Category)
	} else {
		f.RetryAfter, f.Firm = 0, false
	}
	return f
}

func orElse[T ~string](word, otherwise T) T {
	if word == "" {
		return otherwise
	}
	return word
}

// answer applies the lists of statuses and the delay that the other side asked for. 429 and 503 stay apart (S2-3): one
// says when to come back, the other that something is down. The lists do not speak of a success that is none.
func (c *Classifier) answer(f *Failure) {
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
// error: one who has many keeps one.
func Of(err error) Failure { return New(Options{}).Of(err) }
