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
	Stage      Stage
	RetryAfter time.Duration // what the other side asked for; only with a transient class; 0 when it said nothing
	Err        error         // as it was given
}

// Transient tells whether the failure asks for another try.
func (f Failure) Transient() bool { return f.Class.transient() }

// Options say which HTTP statuses pass by themselves (S0-2, S0-3).
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
}

// DefaultRetryableStatus gives the statuses that are tried again unless Options say otherwise.
func DefaultRetryableStatus() []int { return []int{429, 502, 503, 504} }

// DefaultTerminalStatus gives the statuses that are never tried again unless Options say otherwise.
func DefaultTerminalStatus() []int { return []int{400, 401, 403, 404, 500} }

// Classifier classifies errors. It may be used by many goroutines at once.
type Classifier struct {
	retryable []int
}

// New makes a classifier. Zero options mean the defaults.
func New(o Options) *Classifier {
	retryable := o.RetryableStatus
	if retryable == nil {
		retryable = DefaultRetryableStatus()
	}
	c := &Classifier{}
	for _, status := range retryable {
		if !slices.Contains(o.TerminalStatus, status) { // the default terminal list gives way
			c.retryable = append(c.retryable, status)
		}
	}
	return c
}

// Of classifies err, which must not be nil. It is meant to be called once, where the error arrives.
func (c *Classifier) Of(err error) Failure {
	code := codeOf(err)
	f := Failure{Class: classOf(code), Code: code, Stage: stageOf(err), Err: err}
	c.answer(&f)
	var marked *classed
	if errors.As(err, &marked) && slices.Contains(Classes(), marked.class) {
		f.Class = marked.class
	}
	f.Level = f.Class.level()
	f.Category = categoryOf(f)
	if !f.Transient() {
		f.RetryAfter = 0
	}
	return f
}

// answer applies the lists of statuses and the delay that the other side asked for. 429 and 503 stay apart (S2-3): one
// says when to come back, the other that something is down.
func (c *Classifier) answer(f *Failure) {
	var answer *HTTPError
	if f.Code == CodePanic || !errors.As(f.Err, &answer) || f.Code != statusCode(answer.Status) {
		return
	}
	f.RetryAfter = max(answer.RetryAfter, 0)
	switch {
	case !slices.Contains(c.retryable, answer.Status):
	case answer.Status == 429:
		f.Class = RetryAfter
	default:
		f.Class = RetryBackoff
	}
}

// Of classifies err, which must not be nil, with the default lists of HTTP statuses.
func Of(err error) Failure { return New(Options{}).Of(err) }

type classed struct {
	error
	class Class
}

func (c *classed) Unwrap() error { return c.error }

// WithClass marks err with the class that its maker knows it to have, over what the table says; code and message stay as
// they are. The outermost mark counts. A nil error stays nil.
func WithClass(class Class, err error) error {
	if err == nil {
		return nil
	}
	return &classed{error: err, class: class}
}
