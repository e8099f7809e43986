package enrich

import (
	"math"
	"net/http"
	"strconv"
	"testing"
	"time"
)

var quotaClock = time.Date(2026, 3, 18, 2, 0, 0, 0, time.UTC)

func quotaHeader(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Add(pairs[i], pairs[i+1])
	}
	return h
}

func TestReadQuotaAdvice_S2_2(t *testing.T) {
	left := func(n, limit int, reset time.Duration) QuotaAdvice {
		return QuotaAdvice{Known: true, Given: true, Remaining: n, Limit: limit, Reset: reset}
	}
	for _, c := range []struct {
		name   string
		status int
		header http.Header
		want   QuotaAdvice
	}{
		{"nothing", 200, quotaHeader(), QuotaAdvice{}},
		{"draft_list", 200, quotaHeader("RateLimit", `"default";r=50;t=30`, "RateLimit-Policy", `"default";q=100;w=60`), left(50, 100, 30*time.Second)},
		{"draft_list_the_tightest_counts", 200, quotaHeader("RateLimit", `"burst";r=5;t=1, "day";r=3;t=3600`, "RateLimit-Policy", `"burst";q=10;w=1,"day";q=1000;w=86400`), left(3, 1000, time.Hour)},
		{"draft_list_two_are_empty", 200, quotaHeader("RateLimit", `"a";r=0;t=1, "b";r=0;t=9`), left(0, 0, 9*time.Second)},
		{"draft_list_in_two_fields", 200, quotaHeader("RateLimit", `"a";r=7;t=1`, "RateLimit", `"b";r=2;t=9`), left(2, 0, 9*time.Second)},
		{"draft_list_token_as_name", 200, quotaHeader("RateLimit", `a;r=7;t=1`, "RateLimit-Policy", "a;q=8"), left(7, 8, time.Second)},
		{"draft_06_dictionary", 200, quotaHeader("RateLimit", "limit=100, remaining=0, reset=5"), left(0, 100, 5*time.Second)},
		{"draft_05_fields", 200, quotaHeader("RateLimit-Limit", "100, 100;w=60", "RateLimit-Remaining", "4", "RateLimit-Reset", "50"), left(4, 100, 50*time.Second)},
		{"x_reset_in_seconds", 200, quotaHeader("X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "12", "X-RateLimit-Limit", "60"), left(0, 60, 12*time.Second)},
		{"x_reset_since_1970", 200, quotaHeader("X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "1773799290"), left(0, 0, 90*time.Second)},
		{"x_reset_in_the_past", 200, quotaHeader("X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "1773799100"), left(0, 0, 0)},
		{"x_with_another_hyphen", 200, quotaHeader("X-Rate-Limit-Remaining", "1", "X-Rate-Limit-Reset", "0.5"), left(1, 0, 0)},
		{"draft_before_x", 200, quotaHeader("RateLimit", `"a";r=7;t=1`, "X-RateLimit-Remaining", "0"), left(7, 0, time.Second)},
		{"retry_after_in_seconds", 429, quotaHeader("Retry-After", "7"), QuotaAdvice{Pause: 7 * time.Second, Given: true}},
		{"retry_after_as_a_date", 503, quotaHeader("Retry-After", "Wed, 18 Mar 2026 02:01:00 GMT"), QuotaAdvice{Pause: time.Minute, Given: true}},
		{"retry_after_of_a_success_means_something_else", 202, quotaHeader("Retry-After", "7"), QuotaAdvice{}},
		{"both", 429, quotaHeader("Retry-After", "7", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "9"), QuotaAdvice{Known: true, Given: true, Reset: 9 * time.Second, Pause: 7 * time.Second}},
		{"nonsense_list", 200, quotaHeader("RateLimit", `"a";r=x`), QuotaAdvice{}},
		{"negative", 200, quotaHeader("RateLimit", `"a";r=-1;t=5`), QuotaAdvice{}},
		{"nonsense_fields", 200, quotaHeader("X-RateLimit-Remaining", "many"), QuotaAdvice{}},
		{"inner_list", 200, quotaHeader("RateLimit", `("a" "b");r=1`), QuotaAdvice{}},
		{"absurd_reset", 200, quotaHeader("X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "9223372036854775807"), left(0, 0, time.Unix(0, math.MaxInt64).Sub(quotaClock))},
		{"reset_in_microseconds", 200, quotaHeader("X-RateLimit-Remaining", "0", "X-RateLimit-Reset", strconv.FormatInt(quotaClock.Add(30*time.Second).UnixMicro(), 10)), left(0, 0, 30*time.Second)},
		{"reset_in_nanoseconds", 200, quotaHeader("X-RateLimit-Remaining", "0", "X-RateLimit-Reset", strconv.FormatInt(quotaClock.Add(30*time.Second).UnixNano(), 10)), left(0, 0, 30*time.Second)},
		{"reset_as_a_date", 200, quotaHeader("X-RateLimit-Remaining", "0", "X-RateLimit-Reset", quotaClock.Add(30*time.Second).UTC().Format(http.TimeFormat)), left(0, 0, 30*time.Second)},
		{"reset_as_rfc3339", 200, quotaHeader("X-RateLimit-Remaining", "0", "X-RateLimit-Reset", quotaClock.Add(30*time.Second).Format(time.RFC3339)), left(0, 0, 30*time.Second)},
		{"reset_in_words", 200, quotaHeader("X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "soon"), left(0, 0, 0)},
		{"our_clock_is_ahead", 503, quotaHeader("Date", quotaClock.Add(-5*time.Minute).Format(http.TimeFormat), "Retry-After", quotaClock.Add(-4*time.Minute).Format(http.TimeFormat),
			"X-RateLimit-Remaining", "0", "X-RateLimit-Reset", strconv.FormatInt(quotaClock.Add(-4*time.Minute).Unix(), 10)), QuotaAdvice{Known: true, Reset: time.Minute, Pause: time.Minute, Given: true}},
		{"reset_in_milliseconds", 200, quotaHeader("X-RateLimit-Remaining", "0", "X-RateLimit-Reset", strconv.FormatInt(quotaClock.Add(30*time.Second).UnixMilli(), 10)), left(0, 0, 30*time.Second)},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := ReadQuotaAdvice(c.status, c.header, quotaClock); got != c.want {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
}

// FuzzReadQuotaAdvice proves that no header makes a number that the ledger cannot bear.
func FuzzReadQuotaAdvice(f *testing.F) {
	f.Add(`"default";r=50;t=30`, `"default";q=100`, "5", "12")
	f.Add("@", "@", "0", "0")
	f.Add("limit=1, remaining=0, reset=5", "", "0", "1773799290")
	f.Fuzz(func(t *testing.T, limit, policy, left, reset string) {
		a := ReadQuotaAdvice(429, quotaHeader("RateLimit", limit, "RateLimit-Policy", policy, "X-RateLimit-Remaining", left, "X-RateLimit-Reset", reset, "Retry-After", reset), quotaClock)
		if a.Remaining < 0 || a.Limit < 0 || a.Reset < 0 || a.Pause < 0 {
			t.Errorf("%+v", a)
		}
		l := NewQuotaLedger(time.Hour, func() time.Time { return quotaClock })
		ticket, _ := l.Take()
		l.Done(ticket, a)
		if wait := l.Wait(); wait < 0 || wait > time.Hour {
			t.Errorf("%+v makes a wait of %v", a, wait)
		}
	})
}
