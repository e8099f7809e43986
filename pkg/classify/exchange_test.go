package classify_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
)

type stateError string

func (e stateError) Error() string    { return "state " + string(e) }
func (e stateError) SQLState() string { return string(e) }

type numberError int16

func (e numberError) Error() string         { return fmt.Sprint("kafka ", int16(e)) }
func (e numberError) KafkaErrorCode() int16 { return int16(e) }

// The request and the answer are found however the error is wrapped.
func TestExchange_S2_5_travels_with_the_error(t *testing.T) {
	place := classify.Request{Step: "place", Provider: "main", TookMS: 31}
	html := classify.Response{Status: 200, ContentType: "text/html", Body: "<html>"}
	web := &classify.HTTPError{
		Status: 503, RetryAfter: 90 * time.Second, Method: "GET", URL: "https://h/place", Body: "down",
		AskedToWait: "Wed, 21 Oct 2026 07:28:00 GMT", RequestID: "7f3a", ContentType: "text/plain",
	}
	for name, c := range map[string]struct {
		err      error
		request  *classify.Request
		response *classify.Response
	}{
		"nothing is known": {errors.New("x"), nil, nil},
		"an HTTP answer": {
			fmt.Errorf("enrich: %w", web), &classify.Request{Method: "GET", URL: "https://h/place"},
			&classify.Response{Status: 503, RetryAfter: "Wed, 21 Oct 2026 07:28:00 GMT", RequestID: "7f3a", ContentType: "text/plain", Body: "down"},
		},
		"a mark and an HTTP answer": {
			fmt.Errorf("enrich: %w", classify.WithRequest(place, web)), &classify.Request{Step: "place", Provider: "main", TookMS: 31, Method: "GET", URL: "https://h/place"},
			&classify.Response{Status: 503, RetryAfter: "Wed, 21 Oct 2026 07:28:00 GMT", RequestID: "7f3a", ContentType: "text/plain", Body: "down"},
		},
		"a wait that nobody wrote down":           {&classify.HTTPError{Status: 429, RetryAfter: 1500 * time.Millisecond}, nil, &classify.Response{Status: 429, RetryAfter: "2"}},
		"an answer whose status is not a failure": {classify.WithStage(classify.StageEnrich, classify.WithResponse(html, io.ErrUnexpectedEOF)), nil, &html},
		"SQLSTATE":    {classify.WithRequest(place, fmt.Errorf("database: %w", stateError("58030"))), &place, &classify.Response{SQLState: "58030"}},
		"Kafka":       {numberError(10), nil, &classify.Response{KafkaError: 10}},
		"no answer":   {classify.WithRequest(place, context.DeadlineExceeded), &place, nil},
		"the outside": {classify.WithRequest(place, classify.WithRequest(classify.Request{Step: "inner"}, io.EOF)), &place, nil},
	} {
		got := classify.RequestOf(c.err)
		expect.That(t, reflect.DeepEqual(got, c.request), "%v: request %+v, want %+v", name, got, c.request)
		if got := classify.ResponseOf(c.err); !reflect.DeepEqual(got, c.response) {
			t.Errorf("%v: response %+v, want %+v", name, got, c.response)
		}
	}
	expect.That(t, classify.WithRequest(place, nil) == nil && classify.WithResponse(html, nil) == nil, "a nil error became non-nil")
}

func TestExchange_marks_change_neither_class_nor_message(t *testing.T) {
	plain := classify.WithStage(classify.StageEnrich, stateError("40P01"))
	marked := classify.WithRequest(classify.Request{Step: "s"}, classify.WithResponse(classify.Response{Status: 200}, plain))
	was, is := classify.Of(plain), classify.Of(marked)
	if was.Err, is.Err = nil, nil; was != is || marked.Error() != plain.Error() {
		t.Errorf("%+v became %+v, %q became %q", was, is, plain, marked)
	}
}

func TestNewHTTPError_S2_5_keeps_what_finds_the_request_again(t *testing.T) {
	for name, want := range map[string]string{"X-Request-Id": "a", "X-Correlation-Id": "b", "Traceparent": "c", "X-Other": ""} {
		said := answer(503, "<p>down", "7")
		said.Header.Set(name, want)
		said.Header.Set("Content-Type", "text/html")
		said.Request = &http.Request{Method: http.MethodPost, URL: &url.URL{
			Scheme: "https", User: url.UserPassword("u", "secret"), Host: "h", Path: "/p", RawQuery: "key=secret", Fragment: "secret",
		}, Header: http.Header{"Authorization": {"Bearer secret"}}}
		err := classify.NewHTTPError(said, time.Time{})
		request, response := classify.RequestOf(err), classify.ResponseOf(err)
		expect.That(t, request.Text() == `{"method":"POST","url":"https://h/p"}`, "request %s", request.Text())
		expect.That(t, *response == (classify.Response{Status: 503, RetryAfter: "7", RequestID: want, ContentType: "text/html", Body: "<p>down"}), "%s: response %+v", name, response)
		text := request.Text() + response.Text() + err.Error()
		expect.That(t, !strings.Contains(text, "secret"), "a secret in %s", text)
	}
}

func TestExchangeText_is_one_bounded_line(t *testing.T) {
	for name, c := range map[string]struct {
		text interface{ Text() string }
		want string
	}{
		"request": {
			&classify.Request{Step: "place", Provider: "main", Method: "GET", URL: "https://h/a?b&<c>", TookMS: 31},
			`{"step":"place","provider":"main","method":"GET","url":"https://h/a?b&<c>","took_ms":31}`,
		},
		"response": {
			&classify.Response{Status: 503, RetryAfter: "30", RequestID: "7f3a", ContentType: "text/html", Body: " <html>\r\n\t<p>\x00é\xff "},
			`{"status":503,"retry_after":"30","request_id":"7f3a","content_type":"text/html","body":"<html> <p> é` + "\uFFFD" + `"}`,
		},
		"database":           {&classify.Response{SQLState: "40P01"}, `{"sqlstate":"40P01"}`},
		"Kafka":              {&classify.Response{KafkaError: -1}, `{"kafka_error":-1}`},
		"nothing":            {&classify.Response{}, ""},
		"nothing but blanks": {&classify.Request{Step: " \n"}, ""},
		"not a status":       {&classify.Response{Status: -1, Body: "x"}, `{"body":"x"}`},
	} {
		expect.Equal(t, c.text.Text(), c.want, name)
	}
	long := strings.Repeat("ü\"\u2028", 1000)
	for _, got := range []string{
		(&classify.Request{Step: long, Provider: long, Method: long, URL: long, Topic: long, TookMS: 1 << 62}).Text(),
		(&classify.Response{Status: 999, RetryAfter: long, RequestID: long, ContentType: long, Body: long, SQLState: long, KafkaError: -1 << 15}).Text(),
	} {
		expect.That(t, len(got) <= classify.MaxExchange && len(got) >= classify.MaxExchange/2, "%d bytes: %s", len(got), got)
	}
}

func TestParseExchange_refuses_what_it_cannot_read(t *testing.T) {
	for _, text := range []string{"", "null", "[]", `"x"`, "{", `{"took_ms":-1}`, `{"took_ms":"1"}`, `{"status":-1}`, `{"status":1000}`, `{"step":7,"body":7}`, "{\"url\":\"\xff\"}"} {
		_, requestErr := classify.ParseRequest(text)
		_, responseErr := classify.ParseResponse(text)
		expect.That(t, requestErr != nil || responseErr != nil, "%q was read", text)
	}
	newer := `{"method":"GET","status":503,"of_a_newer_version":{"x":[1]}}`
	r, err := classify.ParseRequest(newer)
	expect.That(t, err == nil && r.Method == "GET", "%+v, %v", r, err)
	if r, err := classify.ParseResponse(newer); err != nil || r.Status != 503 {
		t.Errorf("%+v, %v", r, err)
	}
	r, err = classify.ParseRequest("{}")
	expect.That(t, err == nil && r == nil, "%+v, %v", r, err)
	if r, err := classify.ParseResponse(" {}"); err != nil || r != nil {
		t.Errorf("%+v, %v", r, err)
	}
}

// The text of any request or answer is bounded, and a text that was parsed is written unchanged.
func FuzzExchangeText(f *testing.F) {
	f.Add(`{"step":"place","method":"GET","url":"https://h/p","took_ms":31,"status":503,"retry_after":"30","body":"<html>"}`)
	f.Add(`{"sqlstate":"40P01","kafka_error":-1,"topic":"t"}`)
	f.Add("{\"body\":\"\\u0000\\u2028 \\ud800\",\"url\":\"a  b\"}")
	f.Fuzz(func(t *testing.T, text string) {
		if r, err := classify.ParseRequest(text); err == nil && r != nil {
			stays(t, r.Text(), func(text string) (interface{ Text() string }, error) { return classify.ParseRequest(text) })
		}
		if r, err := classify.ParseResponse(text); err == nil && r != nil {
			stays(t, r.Text(), func(text string) (interface{ Text() string }, error) { return classify.ParseResponse(text) })
		}
	})
}

func stays(t *testing.T, written string, parse func(string) (interface{ Text() string }, error)) {
	t.Helper()
	if written == "" {
		return
	}
	again, err := parse(written)
	expect.That(t, err == nil && again.Text() == written && len(written) <= classify.MaxExchange && !strings.ContainsAny(written, "\x00\n\r"), "%s became %v, %v", written, again, err)
}

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
		{"list_with_an_empty_header", ", 120, ,60", 2 * time.Minute, true},
		{"only_commas", " ,, ", 0, false},
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
		expect.Equal(t, classify.NewHTTPError(answer(500, strings.Repeat("é", 150)+"x", ""), time.Time{}).Body, strings.Repeat("é", 100), "body of")
		odd := classify.NewHTTPError(answer(500, "x"+strings.Repeat("é", 150), ""), time.Time{})
		expect.That(t, len(odd.Body) <= classify.MaxBody && strings.HasPrefix(odd.Body, "xéé"), "body of %d bytes: %s", len(odd.Body), odd.Body)
	})
}

func TestPublicURL(t *testing.T) {
	u := must.Get(url.Parse("https://user:word@h:1/a%2Fb?key=secret#part"))(t)
	expect.Equal(t, classify.PublicURL(u), "https://h:1/a%2Fb")
	expect.Equal(t, classify.PublicURL(nil), "", "no URL")
}

// A date is counted from the other side's clock. Even if our clock is ahead, an attempt must not come early.
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
		h := http.Header{}
		for name, value := range map[string]string{"Date": c.date, "Age": c.age, "Retry-After": c.after} {
			if value != "" {
				h.Set(name, value)
			}
		}
		expect.Equal(t, classify.NewHTTPError(&http.Response{StatusCode: 503, Header: h}, now).RetryAfter, c.want, c.name, "waits")
	}
}

// The errors come from real connections, because the type of the other side's alert is not exported.
func TestTaxonomy_S4_3_a_server_that_refuses_TLS_will_not_take_it_later(t *testing.T) {
	ok := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	quiet := log.New(io.Discard, "", 0)

	plain := httptest.NewServer(ok)
	defer plain.Close()
	mutual := httptest.NewUnstartedServer(ok)
	mutual.Config.ErrorLog = quiet
	mutual.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert, MaxVersion: tls.VersionTLS12, MinVersion: tls.VersionTLS12} // with 1.3 the alert may come after the request
	mutual.StartTLS()
	defer mutual.Close()
	untrusted := httptest.NewUnstartedServer(ok)
	untrusted.Config.ErrorLog = quiet
	untrusted.StartTLS()
	defer untrusted.Close()

	for name, c := range map[string]struct {
		url    string
		client *http.Client
	}{
		"no TLS on this port":      {strings.Replace(plain.URL, "http:", "https:", 1), http.DefaultClient},
		"it wants our certificate": {mutual.URL, mutual.Client()},
		"its own is not trusted":   {untrusted.URL, http.DefaultClient},
	} {
		t.Run(name, func(t *testing.T) {
			answer, err := c.client.Get(c.url)
			if err == nil {
				_ = answer.Body.Close()
				t.Fatal("no error")
			}
			f := classify.Of(err)
			expect.That(t, f.Code == classify.CodeTLS && f.Class == classify.Permanent, "%v\nis %s, %s; want %s, %s", err, f.Code, f.Class, classify.CodeTLS, classify.Permanent)
		})
	}
}

// Each byte wraps or adds an error. For every tree of errors the failure is coherent, and wrapping it once more changes
// nothing.
func FuzzOf(f *testing.F) {
	f.Add([]byte{1, 2, 3}, 503, int64(5))
	f.Add([]byte{4, 12, 9, 13, 7}, 404, int64(-1))
	f.Add([]byte{10, 11, 5, 6, 8}, 0, int64(0))
	f.Fuzz(func(t *testing.T, recipe []byte, code int, after int64) {
		err := errors.New("root")
		for _, b := range recipe[:min(len(recipe), 32)] {
			err = grow(err, b, code, time.Duration(after))
		}
		got := classify.New(classify.Options{RetryableStatus: []int{code}}).Of(err)
		coherent(t, got)
		again := classify.New(classify.Options{RetryableStatus: []int{code}}).Of(fmt.Errorf("again: %w", err))
		expect.That(t, got.Class == again.Class && got.Code == again.Code && got.Stage == again.Stage && got.RetryAfter == again.RetryAfter, "wrapped, %v became %+v instead of %+v", err, again, got)
	})
}

func grow(err error, b byte, code int, after time.Duration) error {
	switch b % 14 {
	case 0:
		return fmt.Errorf("wrapped: %w", err)
	case 1:
		return errors.Join(err, &classify.HTTPError{Status: code, RetryAfter: after})
	case 2:
		return classify.WithStage(classify.Stages()[int(b)%len(classify.Stages())], err)
	case 3:
		return classify.WithClass(classify.Classes()[int(b)%len(classify.Classes())], err)
	case 4:
		return coded{code: classify.Codes()[int(b)%len(classify.Codes())], cause: err}
	case 5:
		return coded{code: classify.Code(fmt.Sprint(b)), stage: "x", cause: err}
	case 6:
		return &net.OpError{Op: "read", Err: err}
	case 7:
		return errors.Join(err, context.Canceled)
	case 8:
		return errors.Join(io.ErrUnexpectedEOF, err)
	case 9:
		return errors.Join(syscall.Errno(b), err)
	case 10:
		return &classify.PanicError{Value: err}
	case 11:
		return errors.Join(sqlError("40P01"), err)
	case 12:
		return errors.Join(nil, slow{}, err)
	default:
		return &net.DNSError{UnwrapErr: err, Name: "h"}
	}
}

func answer(code int, body, after string) *http.Response {
	request, _ := http.NewRequest(http.MethodGet, "http://user:word@h:8088/place/7?key=secret#part", nil)
	return &http.Response{StatusCode: code, Request: request, Header: http.Header{"Retry-After": {after}}, Body: io.NopCloser(iotest.OneByteReader(strings.NewReader(body)))}
}
