package quota

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

// Advice is what the headers of one answer say.
type Advice struct {
	// Known tells whether the answer says how many requests are left.
	Known bool
	// Remaining is how many are left until Reset.
	Remaining int
	// Limit is how many there are after each reset; 0 when the answer does not say.
	Limit int
	// Reset is how long until then; 0 when the answer does not say.
	Reset time.Duration
	// Pause is how long nothing may be sent at all; 0 when the answer asks for no pause.
	Pause time.Duration
	// Given tells whether the answer has any of these headers, in a form that can be read.
	Given bool
}

// From these numbers on, a reset is a time since 1970 and not a duration: in seconds, milliseconds, microseconds or nanoseconds.
// Services send all four. 30 years are no duration, and the year 5138 is no time.
const (
	epochSeconds = 1_000_000_000
	epochMillis  = 100_000_000_000
	epochMicros  = 100_000_000_000_000
	epochNanos   = 100_000_000_000_000_000
)

// Read takes the advice from an answer. Dates in it are counted from now, as [classify.AnsweredAt] has it.
func Read(status int, h http.Header, now time.Time) Advice {
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
func fromList(h http.Header) (Advice, bool) {
	list, err := parsed(httpsfv.UnmarshalList, h.Values("Ratelimit"))
	if err != nil || len(list) == 0 {
		return Advice{}, false
	}
	limits := policies(h)
	var all []Advice
	for _, member := range list {
		item, ok := member.(httpsfv.Item)
		if !ok {
			return Advice{}, false
		}
		left, ok := whole(item.Params, "r")
		if !ok {
			return Advice{}, false
		}
		reset, _ := whole(item.Params, "t")
		all = append(all, Advice{Remaining: left, Limit: limits[nameOf(item)], Reset: seconds(reset)})
	}
	return tightest(all), true
}

// parsed parses a structured field. The parser panics at some malformed dates ("@"), and a service must not end the attempt so.
func parsed[T any](parse func([]string) (T, error), values []string) (out T, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("malformed structured field: %v", r)
		}
	}()
	return parse(values)
}

// tightest gives the quota with the fewest requests left, and of several the one that lasts longest.
func tightest(all []Advice) Advice {
	return slices.MinFunc(all, func(a, b Advice) int {
		return cmp.Or(cmp.Compare(a.Remaining, b.Remaining), cmp.Compare(b.Reset, a.Reset))
	})
}

// policies gives the size of each quota that RateLimit-Policy names.
func policies(h http.Header) map[string]int {
	out := map[string]int{}
	list, err := parsed(httpsfv.UnmarshalList, h.Values("Ratelimit-Policy"))
	if err != nil {
		return out
	}
	for _, member := range list {
		if item, ok := member.(httpsfv.Item); ok {
			out[nameOf(item)], _ = whole(item.Params, "q")
		}
	}
	return out
}

func nameOf(item httpsfv.Item) string {
	switch name := item.Value.(type) {
	case string:
		return name
	case httpsfv.Token:
		return string(name)
	default:
		return ""
	}
}

func whole(p *httpsfv.Params, name string) (int, bool) {
	value, ok := p.Get(name)
	if !ok {
		return 0, false
	}
	n, ok := value.(int64)
	return int(n), ok && 0 <= n && n <= math.MaxInt32
}

// fromDictionary reads RateLimit as the draft had it at first.
func fromDictionary(h http.Header) (Advice, bool) {
	dict, err := parsed(httpsfv.UnmarshalDictionary, h.Values("Ratelimit"))
	if err != nil {
		return Advice{}, false
	}
	number := func(name string) (int, bool) {
		member, ok := dict.Get(name)
		if !ok {
			return 0, false
		}
		item, ok := member.(httpsfv.Item)
		if !ok {
			return 0, false
		}
		n, ok := item.Value.(int64)
		return int(n), ok && 0 <= n && n <= math.MaxInt32
	}
	left, ok := number("remaining")
	reset, _ := number("reset")
	limit, _ := number("limit")
	return Advice{Remaining: left, Limit: limit, Reset: seconds(reset)}, ok
}

// fromFields reads one number a field.
func fromFields(h http.Header, now time.Time) (Advice, bool) {
	for _, prefix := range []string{"RateLimit-", "X-RateLimit-", "X-Rate-Limit-"} {
		left, ok := field(h, prefix+"Remaining")
		if !ok {
			continue
		}
		limit, _ := field(h, prefix+"Limit")
		return Advice{Remaining: int(min(left, math.MaxInt32)), Limit: int(min(limit, math.MaxInt32)), Reset: resetIn(h, prefix+"Reset", now)}, true
	}
	return Advice{}, false
}

// resetIn reads how long it is until the reset that a field names: as a duration in seconds, a time since 1970, an HTTP date or
// a time of RFC 3339. It is 0 when the field has none of them.
func resetIn(h http.Header, name string, now time.Time) time.Duration {
	reset, ok := field(h, name)
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
		return seconds(int(min(reset, math.MaxInt32)))
	}
	return max(at.Sub(now), 0)
}

// field reads a whole number; of a list, as some services send it ("100, 100;w=60"), the first.
func field(h http.Header, name string) (int64, bool) {
	text, _, _ := strings.Cut(h.Get(name), ",")
	text, _, _ = strings.Cut(text, ".") // a few send fractions of seconds
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	return n, err == nil && n >= 0
}

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }
