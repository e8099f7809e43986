package classify

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Request is what another system was asked when an attempt failed (S2-5), without query and credentials. An absent field
// is unknown or does not apply.
type Request struct {
	Step     string `json:"step,omitempty"`     // remote step of the pipeline
	Provider string `json:"provider,omitempty"` // the step's provider that was asked
	Method   string `json:"method,omitempty"`   // of HTTP, such as GET; produce for a record sent to Kafka
	URL      string `json:"url,omitempty"`      // scheme, host and path; of a database postgres://host:port/name
	Topic    string `json:"topic,omitempty"`    // of Kafka
	TookMS   int64  `json:"took_ms,omitempty"`  // from the request to its answer or failure, in milliseconds, rounded up
}

// Response is another system's answer when an attempt failed (S2-5). An absent field is unknown or does not apply.
type Response struct {
	Status      int    `json:"status,omitempty"`       // of HTTP, such as 503
	RetryAfter  string `json:"retry_after,omitempty"`  // as in the answer: seconds or a date
	RequestID   string `json:"request_id,omitempty"`   // identifies the request in the other side's log (see RequestIDHeaders)
	ContentType string `json:"content_type,omitempty"` // as in the answer
	Body        string `json:"body,omitempty"`         // the start of the body, at most MaxBody bytes
	SQLState    string `json:"sqlstate,omitempty"`     // five characters, of a database
	KafkaError  int16  `json:"kafka_error,omitempty"`  // error code of the Kafka protocol
}

// RequestIDHeaders lists the HTTP headers that identify a request in the other side's log. The first one in the answer
// counts.
func RequestIDHeaders() []string {
	return []string{
		"X-Request-Id", "X-Correlation-Id", "Request-Id", "X-Amzn-Requestid", "X-Amz-Request-Id", "X-Ms-Request-Id", "X-Trace-Id",
		"X-Amzn-Trace-Id", "X-Cloud-Trace-Context", "Traceparent", "Cf-Ray",
	}
}

// NewResponse returns what may be shown of an HTTP answer, without its body.
func NewResponse(answer *http.Response) Response {
	r := Response{Status: answer.StatusCode, RetryAfter: strings.Join(answer.Header.Values("Retry-After"), ", "), ContentType: answer.Header.Get("Content-Type")}
	for _, name := range RequestIDHeaders() {
		if r.RequestID = answer.Header.Get(name); r.RequestID != "" {
			break
		}
	}
	return r
}

type requestError struct {
	error
	request Request
}

func (a *requestError) Unwrap() error { return a.error }

// WithRequest marks err with the failed request, and keeps its message. The outermost mark counts. A nil error stays
// nil.
func WithRequest(r Request, err error) error {
	if err == nil {
		return nil
	}
	return &requestError{error: err, request: r}
}

type responseError struct {
	error
	response Response
}

func (a *responseError) Unwrap() error { return a.error }

// WithResponse marks err with the answer, and keeps its message. The outermost mark counts. A nil error stays nil.
func WithResponse(r Response, err error) error {
	if err == nil {
		return nil
	}
	return &responseError{error: err, response: r}
}

// RequestOf returns err's request: the mark of WithRequest, or an HTTPError's. It is nil if nothing was asked.
func RequestOf(err error) *Request {
	var r Request
	if marked, ok := errors.AsType[*requestError](err); ok {
		r = marked.request
	}
	if answer, ok := errors.AsType[*HTTPError](err); ok && r.URL == "" {
		r.Method, r.URL = answer.Method, answer.URL
	}
	if r == (Request{}) {
		return nil
	}
	return &r
}

// ResponseOf returns err's answer: the mark of WithResponse, or an HTTPError's, with the SQLSTATE or the Kafka error
// code. It is nil if there was no answer.
func ResponseOf(err error) *Response {
	var r Response
	if marked, ok := errors.AsType[*responseError](err); ok {
		r = marked.response
	} else if answer, ok := errors.AsType[*HTTPError](err); ok {
		r = answer.response()
	}
	r.SQLState = sqlState(err)
	r.KafkaError, _ = kafkaErrorCode(err)
	if r == (Response{}) {
		return nil
	}
	return &r
}

func (e *HTTPError) response() Response {
	r := Response{Status: e.Status, RetryAfter: e.AskedToWait, RequestID: e.RequestID, ContentType: e.ContentType, Body: e.Body}
	if r.RetryAfter == "" && e.RetryAfter > 0 {
		r.RetryAfter = strconv.FormatInt(int64(math.Ceil(e.RetryAfter.Seconds())), 10)
	}
	return r
}

// Milliseconds converts a duration for Request.TookMS. It rounds up, so that a request never took no time.
func Milliseconds(d time.Duration) int64 {
	return int64((max(d, 0) + time.Millisecond - 1) / time.Millisecond)
}

// String formats a request on one line, such as "GET http://127.0.0.1:8088/place (step place, provider main, 31 ms)".
func (r *Request) String() string {
	var about []string
	add := func(name, value string) {
		if value != "" {
			about = append(about, name+" "+value)
		}
	}
	add("step", r.Step)
	add("provider", r.Provider)
	if r.TookMS > 0 {
		about = append(about, fmt.Sprintf("%d ms", r.TookMS))
	}
	text := strings.Join(strings.Fields(r.Method+" "+r.URL+" "+r.Topic), " ")
	if len(about) > 0 {
		text = strings.TrimSpace(text + " (" + strings.Join(about, ", ") + ")")
	}
	return text
}

// String formats an answer on one line, such as "HTTP 503, retry after 30, request id 7f3a, text/html: <html>…".
func (r *Response) String() string {
	var parts []string
	add := func(name, value string) {
		if value != "" {
			parts = append(parts, name+value)
		}
	}
	if r.Status != 0 {
		add("HTTP ", strconv.Itoa(r.Status))
	}
	add("SQLSTATE ", r.SQLState)
	if r.KafkaError != 0 {
		add("Kafka ", strconv.Itoa(int(r.KafkaError)))
	}
	add("retry after ", r.RetryAfter)
	add("request id ", r.RequestID)
	add("", r.ContentType)
	text := strings.Join(parts, ", ")
	if r.Body != "" {
		text += ": " + r.Body
	}
	return text
}
