package classify_test

import (
	"math"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
)

func TestParseRetryAfter(t *testing.T) {
	now := time.Date(1999, 12, 31, 23, 59, 0, 0, time.UTC)
	for _, r := range []struct {
		name, value string
		want        time.Duration
		ok          bool
	}{
		{"S1-6_seconds", "120", 2 * time.Minute, true},
		{"S1-6_zero", "0", 0, true},
		{"S1-6_spaces", " 7 ", 7 * time.Second, true},
		{"S2-2_http_date", "Fri, 31 Dec 1999 23:59:59 GMT", 59 * time.Second, true},
		{"S2-2_rfc_850_date", "Friday, 31-Dec-99 23:59:59 GMT", 59 * time.Second, true},
		{"S2-2_asctime_date", "Fri Dec 31 23:59:59 1999", 59 * time.Second, true},
		{"S2-2_date_in_the_past", "Fri, 31 Dec 1999 23:58:59 GMT", 0, true},
		{"S2-2_absurd_is_passed_on", "31536000", 365 * 24 * time.Hour, true},
		{"S2-2_longer_than_a_duration", "9223372037", math.MaxInt64, true},
		{"S2-2_longer_than_an_integer", "99999999999999999999", math.MaxInt64, true},
		{"S2-2_date_beyond_a_duration", "Fri, 31 Dec 9999 23:59:59 GMT", math.MaxInt64, true},
		{"absent", "", 0, false},
		{"negative", "-1", 0, false},
		{"fraction", "1.5", 1500 * time.Millisecond, true},
		{"fraction_below_a_second", "0.25", 250 * time.Millisecond, true},
		{"fraction_without_digits", "1.", 0, false},
		{"list", "120, 60", 2 * time.Minute, true},
		{"list_of_a_number_and_a_date", "30, Fri, 31 Dec 1999 23:59:59 GMT", 59 * time.Second, true},
		{"list_of_a_date_and_a_number", "Fri, 31 Dec 1999 23:59:59 GMT, 90", 90 * time.Second, true},
		{"list_with_words", "120, soon", 0, false},
		{"unit", "120s", 0, false},
		{"words", "soon", 0, false},
	} {
		t.Run(r.name, func(t *testing.T) {
			got, ok := classify.ParseRetryAfter(r.value, now)
			expect.That(t, got == r.want && ok == r.ok, "%q gives %v, %v; want %v, %v", r.value, got, ok, r.want, r.ok)
		})
	}
}

func TestNewHTTPError(t *testing.T) {
	t.Run("keeps_neither_query_nor_credentials", func(t *testing.T) {
		e := classify.NewHTTPError(answer(503, " overloaded \n", "2"), time.Time{})
		const want = `GET http://h:8088/place/7: 503 Service Unavailable, retry after 2s: "overloaded"`
		expect.That(t, e.Error() == want, "got  %s\nwant %s", e, want)
	})
	t.Run("cuts_the_body_between_two_characters", func(t *testing.T) {
		e := classify.NewHTTPError(answer(500, strings.Repeat("é", 150)+"x", ""), time.Time{})
		expect.That(t, e.Body == strings.Repeat("é", 100), "body of %d bytes: %s", len(e.Body), e.Body)
		odd := classify.NewHTTPError(answer(500, "x"+strings.Repeat("é", 150), ""), time.Time{})
		expect.That(t, len(odd.Body) <= classify.MaxBody && strings.HasPrefix(odd.Body, "xéé"), "body of %d bytes: %s", len(odd.Body), odd.Body)
	})
}

func TestPublicURL(t *testing.T) {
	u := must.Get(url.Parse("https://user:word@h:1/a%2Fb?key=secret#part"))(t)
	expect.Equal(t, classify.PublicURL(u), "https://h:1/a%2Fb")
	expect.Equal(t, classify.PublicURL(nil), "", "no URL")
}

// A date is that of the other side's clock. Ours may be ahead of it: an attempt must not come early for that.
func TestNewHTTPError_S2_2_a_date_is_counted_from_the_clock_that_made_it(t *testing.T) {
	now := time.Date(2026, 3, 18, 2, 0, 0, 0, time.UTC)
	at := func(d time.Duration) string { return now.Add(d).Format(http.TimeFormat) }
	for _, c := range []struct {
		name, date, age, after string
		want                   time.Duration
	}{
		{"no_date", "", "", at(time.Minute), time.Minute},
		{"one_clock", at(0), "", at(time.Minute), time.Minute},
		{"ours_is_ahead", at(-5 * time.Minute), "", at(-4 * time.Minute), time.Minute},
		{"ours_is_ahead_and_the_answer_was_kept", at(-5 * time.Minute), "20", at(-4 * time.Minute), 40 * time.Second},
		{"ours_is_behind", at(5 * time.Minute), "", at(6 * time.Minute), 6 * time.Minute}, // late is allowed, early is not
		{"seconds_have_no_clock", at(-5 * time.Minute), "", "30", 30 * time.Second},
		{"no_date_at_all", "yesterday", "x", at(time.Minute), time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := http.Header{}
			for name, value := range map[string]string{"Date": c.date, "Age": c.age, "Retry-After": c.after} {
				if value != "" {
					h.Set(name, value)
				}
			}
			expect.Equal(t, classify.NewHTTPError(&http.Response{StatusCode: 503, Header: h}, now).RetryAfter, c.want, "waits")
		})
	}
}
