package enrich

import (
	"cmp"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dunglas/httpsfv"

	"github.com/switchback-geo/switchback/pkg/classify"
)

// QuotaAdvice is the rate limit of a service according to the headers of one answer. These headers are read, in this order of trust:
//
//	RateLimit, RateLimit-Policy                          draft-ietf-httpapi-ratelimit-headers, lists: "day";r=50;t=30
//	RateLimit: limit=100, remaining=50, reset=30         the same draft up to revision 06
//	RateLimit-Limit, -Remaining, -Reset                  the same draft up to revision 05
//	X-RateLimit-Limit, -Remaining, -Reset (X-Rate-Limit) custom; the reset in seconds from now, or in seconds or milliseconds since 1970
//	Retry-After                                          RFC 9110, in both forms, of an answer 429 or 503
//
// Of several quotas the one with the fewest requests left counts. A header that cannot be parsed is ignored.
type QuotaAdvice struct {
	// Known reports whether the answer states how many requests are left.
	Known bool
	// Remaining is how many are left until Reset.
	Remaining int
	// Limit is the number of requests after each reset; 0 if the answer does not state it.
	Limit int
	// Reset is the time until the next reset; 0 if the answer does not state it.
	Reset time.Duration
	// Pause is how long no request may be sent; 0 if the answer asks for no pause.
	Pause time.Duration
	// Given reports whether the answer has any of these headers in a readable form.
	Given bool
}

// From these numbers on, a reset is a time since 1970 and not a duration: in seconds, milliseconds, microseconds or nanoseconds.
// Services send all four. No quota lasts 30 years, and none ends in the year 5138.
const (
	epochSeconds = 1_000_000_000
	epochMillis  = 100_000_000_000
	epochMicros  = 100_000_000_000_000
	epochNanos   = 100_000_000_000_000_000
)

// ReadQuotaAdvice reads the advice of an answer. Dates are counted from now, as [classify.AnsweredAt] corrects it.
func ReadQuotaAdvice(status int, h http.Header, now time.Time) QuotaAdvice {
	now = classify.AnsweredAt(h, now)
	a, ok := fromList(h)
	if !ok {
		a, ok = fromDictionary(h)
	}
	if !ok {
		a, ok = fromFields(h, now)
	}
	a.Known = ok
	var pause bool
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		a.Pause, pause = classify.ParseRetryAfter(strings.Join(h.Values("Retry-After"), ", "), now)
	}
	a.Given = a.Known || pause
	return a
}

// fromList reads RateLimit as a list of quotas.
func fromList(h http.Header) (QuotaAdvice, bool) {
	list, err := parsedField(httpsfv.UnmarshalList, h.Values("Ratelimit"))
	if err != nil || len(list) == 0 {
		return QuotaAdvice{}, false
	}
	limits := quotaSizes(h)
	var all []QuotaAdvice
	for _, member := range list {
		item, ok := member.(httpsfv.Item)
		if !ok {
			return QuotaAdvice{}, false
		}
		left, ok := nonNegativeParam(item.Params, "r")
		if !ok {
			return QuotaAdvice{}, false
		}
		t, _ := item.Params.Get("t")
		all = append(all, QuotaAdvice{Remaining: left, Limit: limits[quotaName(item)], Reset: secondsIn(t)})
	}
	return tightestQuota(all), true
}

// parsedField parses a structured field. The parser panics at some malformed dates ("@"), and a service must not end the attempt with a panic.
func parsedField[T any](parse func([]string) (T, error), values []string) (out T, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("malformed structured field: %v", r)
		}
	}()
	return parse(values)
}

// tightestQuota returns the quota with the fewest requests left; of several, the one that lasts longest.
func tightestQuota(all []QuotaAdvice) QuotaAdvice {
	return slices.MinFunc(all, func(a, b QuotaAdvice) int {
		return cmp.Or(cmp.Compare(a.Remaining, b.Remaining), cmp.Compare(b.Reset, a.Reset))
	})
}

// quotaSizes returns the size of each quota that RateLimit-Policy names.
func quotaSizes(h http.Header) map[string]int {
	out := map[string]int{}
	list, err := parsedField(httpsfv.UnmarshalList, h.Values("Ratelimit-Policy"))
	if err != nil {
		return out
	}
	for _, member := range list {
		if item, ok := member.(httpsfv.Item); ok {
			out[quotaName(item)], _ = nonNegativeParam(item.Params, "q")
		}
	}
	return out
}

func quotaName(item httpsfv.Item) string {
	switch name := item.Value.(type) {
	case string:
		return name
	case httpsfv.Token:
		return string(name)
	default:
		return ""
	}
}

func nonNegativeParam(p *httpsfv.Params, name string) (int, bool) {
	value, _ := p.Get(name)
	return nonNegative(value)
}

// nonNegative returns a number of a structured field that is not negative. Absent is nil.
func nonNegative(value any) (int, bool) {
	n, ok := value.(int64)
	return int(n), ok && 0 <= n && n <= math.MaxInt32
}

// secondsIn returns a time of a structured field, or 0. It rounds fractions up: the quota must not seem to be free too early.
func secondsIn(value any) time.Duration {
	if n, ok := value.(float64); ok {
		value = int64(math.Ceil(n))
	}
	n, _ := nonNegative(value)
	return inSeconds(n)
}

// fromDictionary reads RateLimit in the form of the first revisions of the draft.
func fromDictionary(h http.Header) (QuotaAdvice, bool) {
	dict, err := parsedField(httpsfv.UnmarshalDictionary, h.Values("Ratelimit"))
	if err != nil {
		return QuotaAdvice{}, false
	}
	value := func(name string) any {
		member, _ := dict.Get(name)
		item, _ := member.(httpsfv.Item)
		return item.Value
	}
	left, ok := nonNegative(value("remaining"))
	limit, _ := nonNegative(value("limit"))
	return QuotaAdvice{Remaining: left, Limit: limit, Reset: secondsIn(value("reset"))}, ok
}

// fromFields reads headers with one number each.
func fromFields(h http.Header, now time.Time) (QuotaAdvice, bool) {
	for _, prefix := range []string{"RateLimit-", "X-RateLimit-", "X-Rate-Limit-"} {
		left, ok := quotaField(h, prefix+"Remaining")
		if !ok {
			continue
		}
		limit, _ := quotaField(h, prefix+"Limit")
		return QuotaAdvice{Remaining: int(min(left, math.MaxInt32)), Limit: int(min(limit, math.MaxInt32)), Reset: resetIn(h, prefix+"Reset", now)}, true
	}
	return QuotaAdvice{}, false
}

// resetIn returns the time until the reset that a field names: a duration in seconds, a time since 1970, an HTTP date or an RFC 3339
// time. It is 0 if the field has none of them.
func resetIn(h http.Header, name string, now time.Time) time.Duration {
	reset, ok := quotaField(h, name)
	if _, fraction, _ := strings.Cut(h.Get(name), "."); ok && strings.ContainsAny(fraction, "123456789") && reset < math.MaxInt64 {
		reset++ // rounded up: the quota must not seem to be free too early
	}
	var at time.Time
	switch {
	case !ok:
		text := strings.TrimSpace(h.Get(name))
		var err error
		if at, err = time.Parse(time.RFC3339, text); err != nil {
			if at, err = http.ParseTime(text); err != nil {
				return 0
			}
		}
	case reset >= epochNanos:
		at = time.Unix(0, reset)
	case reset >= epochMicros:
		at = time.UnixMicro(reset)
	case reset >= epochMillis:
		at = time.UnixMilli(reset)
	case reset >= epochSeconds:
		at = time.Unix(reset, 0)
	default:
		return inSeconds(int(min(reset, math.MaxInt32)))
	}
	return max(at.Sub(now), 0)
}

// quotaField reads a whole number; of a list, as some services send it ("100, 100;w=60"), the first one.
func quotaField(h http.Header, name string) (int64, bool) {
	text, _, _ := strings.Cut(h.Get(name), ",")
	text, _, _ = strings.Cut(text, ".") // a few send fractions of seconds
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	return n, err == nil && n >= 0
}

func inSeconds(n int) time.Duration { return time.Duration(n) * time.Second }
