package classify

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// MaxBody is how many bytes of an answer's body an HTTPError keeps.
const MaxBody = 200

// HTTPError is an HTTP answer that made a request fail. It holds neither query nor credentials, so that it may be shown.
type HTTPError struct {
	Status     int           // such as 503
	RetryAfter time.Duration // how long the server asked to wait; 0 when it did not
	Method     string        // such as GET
	URL        string        // scheme, host and path
	Body       string        // the start of the answer's body, at most MaxBody bytes, valid UTF-8

	AskedToWait string // Retry-After as it was given; empty when it was not
	RequestID   string // by which the server finds the request in its log; see RequestIDHeaders
	ContentType string // of the answer
}

// NewHTTPError makes the error for an answer. It reads the start of the body and leaves the rest and the closing to the
// caller. A date in Retry-After is counted from now, as AnsweredAt has it.
func NewHTTPError(answer *http.Response, now time.Time) *HTTPError {
	said := NewResponse(answer)
	e := &HTTPError{Status: said.Status, AskedToWait: said.RetryAfter, RequestID: said.RequestID, ContentType: said.ContentType}
	e.RetryAfter, _ = ParseRetryAfter(said.RetryAfter, AnsweredAt(answer.Header, now))
	if answer.Request != nil {
		e.Method = answer.Request.Method
		if e.Method == "" {
			e.Method = http.MethodGet
		}
		e.URL = PublicURL(answer.Request.URL)
	}
	if answer.Body != nil {
		start, _ := io.ReadAll(io.LimitReader(answer.Body, MaxBody)) // a body cut short does not change the status
		e.Body = cut(strings.ToValidUTF8(string(start), "\uFFFD"), MaxBody)
	}
	return e
}

// Error says which request got which answer, such as "GET http://127.0.0.1:8088/place: 503 Service Unavailable".
func (e *HTTPError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s: %d", e.Method, e.URL, e.Status)
	if text := http.StatusText(e.Status); text != "" {
		b.WriteString(" " + text)
	}
	if e.RetryAfter > 0 {
		fmt.Fprintf(&b, ", retry after %v", e.RetryAfter)
	}
	if body := strings.TrimSpace(e.Body); body != "" {
		fmt.Fprintf(&b, ": %s", strconv.Quote(cut(body, MaxBody)))
	}
	return b.String()
}

// PublicURL gives scheme, host and path of a URL: what may stand in a log. User, password, query and fragment may carry
// secrets or personal data and are left out.
func PublicURL(u *url.URL) string {
	if u == nil {
		return ""
	}
	return (&url.URL{Scheme: u.Scheme, Opaque: u.Opaque, Host: u.Host, Path: u.Path, RawPath: u.RawPath}).String()
}

// cut shortens s to at most n bytes, between two characters.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "")
}
