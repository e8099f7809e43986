package retrytopics

import (
	"time"

	"github.com/switchback-geo/switchback/pkg/classify"
)

// Retry marks a handler's error as transient, whatever it is: the record is attempted again after the delay that its policy
// gives, until its attempts are used up. errors.Is and errors.As see through the mark; of several marks the outermost counts.
// A nil error stays nil.
func Retry(err error) error { return classify.WithClass(classify.RetryBackoff, err) }

// RetryAfter marks a handler's error as transient, and says when the record may be attempted again: once d has passed since
// this attempt ended, never earlier. A d beyond the longest tier is waited for in several rounds through it; neither these nor
// Policy.RetryAfterLimit shorten it. It counts as an attempt like any other. A d of 0 or less is the same as Retry. A nil
// error stays nil.
func RetryAfter(d time.Duration, err error) error { return classify.WithRetryAfter(d, err) }

// Reject marks a handler's error as permanent, whatever it is: the record becomes a dead letter at once. errors.Is and
// errors.As see through the mark. A nil error stays nil.
func Reject(err error) error { return classify.WithClass(classify.Permanent, err) }
