package classify

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// ParseRetryAfter reads the value of a Retry-After header: seconds or an HTTP date (RFC 9110, section 10.2.3). now is the
// time that a date is counted from. A date in the past gives 0. A value that is neither gives false, and so does an
// absent one; a wait too long for a Duration gives the longest one, since bounding it is the policy's business.
func ParseRetryAfter(value string, now time.Time) (time.Duration, bool) {
	value = strings.TrimSpace(value)
	if value == "" {
		return 0, false
	}
	if strings.Trim(value, "0123456789") == "" {
		return secondsOf(value), true
	}
	date, err := http.ParseTime(value)
	if err != nil {
		return 0, false
	}
	return max(date.Sub(now), 0), true
}

// AnsweredAt gives the time that dates in an answer with these headers are counted from: now, or the answer's own Date (RFC
// 9110, section 6.6.1) with its Age when that is earlier. The clock of the other side may be behind ours; what it asks us to
// wait for would then seem to be over before it is.
func AnsweredAt(h http.Header, now time.Time) time.Time {
	date, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		return now
	}
	if age, err := strconv.ParseInt(strings.TrimSpace(h.Get("Age")), 10, 32); err == nil && age > 0 {
		date = date.Add(time.Duration(age) * time.Second)
	}
	if date.Before(now) {
		return date
	}
	return now
}

func secondsOf(digits string) time.Duration {
	const longest = math.MaxInt64 / int64(time.Second)
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n > longest { // digits only, so the one possible fault is the range
		return math.MaxInt64
	}
	return time.Duration(n) * time.Second
}
