package classify_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/pkg/classify"
)

type stateError string

func (e stateError) Error() string    { return "state " + string(e) }
func (e stateError) SQLState() string { return string(e) }

type numberError int16

func (e numberError) Error() string         { return fmt.Sprint("kafka ", int16(e)) }
func (e numberError) KafkaErrorCode() int16 { return int16(e) }

// What was asked and answered is read off the error, however it is wrapped.
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
		"a wait that nobody wrote down": {&classify.HTTPError{Status: 429, RetryAfter: 1500 * time.Millisecond}, nil, &classify.Response{Status: 429, RetryAfter: "2"}},
		"an answer that is no failure by its status": {
			classify.WithStage(classify.StageEnrich, classify.WithResponse(html, io.ErrUnexpectedEOF)), nil, &html,
		},
		"SQLSTATE":    {classify.WithRequest(place, fmt.Errorf("database: %w", stateError("58030"))), &place, &classify.Response{SQLState: "58030"}},
		"Kafka":       {numberError(10), nil, &classify.Response{KafkaError: 10}},
		"no answer":   {classify.WithRequest(place, context.DeadlineExceeded), &place, nil},
		"the outside": {classify.WithRequest(place, classify.WithRequest(classify.Request{Step: "inner"}, io.EOF)), &place, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got := classify.RequestOf(c.err); !reflect.DeepEqual(got, c.request) {
				t.Errorf("request %+v, want %+v", got, c.request)
			}
			if got := classify.ResponseOf(c.err); !reflect.DeepEqual(got, c.response) {
				t.Errorf("response %+v, want %+v", got, c.response)
			}
		})
	}
	expect.That(t, classify.WithRequest(place, nil) == nil && classify.WithResponse(html, nil) == nil, "a nil error became one")
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
	if r, err := classify.ParseRequest(newer); err != nil || r.Method != "GET" {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := classify.ParseResponse(newer); err != nil || r.Status != 503 {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := classify.ParseRequest("{}"); err != nil || r != nil {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := classify.ParseResponse(" {}"); err != nil || r != nil {
		t.Errorf("%+v, %v", r, err)
	}
}

// What is read of any text is written in bounds, and what was written once stays as it is.
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
