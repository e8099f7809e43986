package classify

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// listSpace separates the elements of a list. An element may be empty, like a header without a value.
const listSpace = ", \t"

// ParseRetryAfter parses the value of a Retry-After header: seconds or an HTTP date (RFC 9110, section 10.2.3). It also
// accepts fractions of seconds, and returns the longest wait of a list, which proxies make of two headers. A date counts
// from now; a date in the past returns 0. An absent or invalid value returns false. A wait too long for a Duration
// returns the longest one; bounding it is the policy's task.
func ParseRetryAfter(value string, now time.Time) (time.Duration, bool) {
	longest, some := time.Duration(0), false
	for rest := strings.Trim(value, listSpace); rest != ""; {
		element, behind, _ := strings.Cut(rest, ",")
		wait, ok := secondsOf(strings.TrimSpace(element))
		if !ok {
			if wait, behind, ok = dateIn(rest, now); !ok {
				return 0, false
			}
		}
		longest, some = max(longest, wait), true
		rest = strings.Trim(behind, listSpace)
	}
	return longest, some
}

// dateIn parses the HTTP date at the start of a list, and returns what follows it. Two of its three forms have a comma.
func dateIn(list string, now time.Time) (wait time.Duration, behind string, ok bool) {
	for end := strings.IndexByte(list, ','); ; {
		text := list
		if end >= 0 {
			text, behind = list[:end], list[end+1:]
		} else {
			behind = ""
		}
		if date, err := http.ParseTime(strings.TrimSpace(text)); err == nil {
			return max(date.Sub(now), 0), behind, true
		}
		if end < 0 {
			return 0, "", false
		}
		next := strings.IndexByte(list[end+1:], ',')
		if next < 0 {
			end = -1
		} else {
			end += 1 + next
		}
	}
}

// AnsweredAt returns the time from which dates in an answer with these headers count: now, or the answer's own Date (RFC
// 9110, section 6.6.1) plus its Age if that is earlier. The other side's clock may be behind ours; a wait that it asks
// for would then seem to be over too early.
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

// secondsOf parses a number of seconds, with or without a fraction.
func secondsOf(text string) (wait time.Duration, ok bool) {
	const longest = math.MaxInt64/int64(time.Second) - 1
	whole, fraction, hasFraction := strings.Cut(text, ".")
	if whole == "" || strings.Trim(whole, "0123456789") != "" || strings.Trim(fraction, "0123456789") != "" || hasFraction && fraction == "" {
		return 0, false
	}
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || n > longest { // digits only, so the only possible fault is the range
		return math.MaxInt64, true
	}
	share, _ := strconv.ParseFloat("0."+fraction+"0", 64)
	return time.Duration(n)*time.Second + time.Duration(math.Ceil(share*float64(time.Second))), true
}
