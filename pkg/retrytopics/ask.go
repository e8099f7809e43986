package retrytopics

import (
	"time"

	"github.com/switchback-geo/switchback/pkg/classify"
)

// Retry marks a handler's error as transient, whatever it is. The record is attempted again after the delay of its
// policy, until its attempts are used up. errors.Is and errors.As see through the mark; the outermost of several marks
// counts. A nil error stays nil.
func Retry(err error) error { return classify.WithClass(classify.RetryBackoff, err) }

// RetryAfter marks a handler's error as transient and sets the earliest time of the next attempt: d after the end of
// this attempt. A d beyond the longest retry topic is waited for in several rounds through it. Neither these nor
// Policy.RetryAfterLimit shorten d. The attempt counts like any other. A d of 0 or less is the same as Retry. A nil
// error stays nil.
func RetryAfter(d time.Duration, err error) error { return classify.WithRetryAfter(d, err) }

// Reject marks a handler's error as permanent, whatever it is: the record becomes a dead letter at once. errors.Is and
// errors.As see through the mark. A nil error stays nil.
func Reject(err error) error { return classify.WithClass(classify.Permanent, err) }
