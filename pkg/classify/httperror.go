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

// MaxBody is how much of an answer's body an HTTPError keeps, in bytes.
const MaxBody = 200

// HTTPError is an HTTP answer that made a request fail, without query and credentials.
type HTTPError struct {
	Status     int           // such as 503
	RetryAfter time.Duration // how long the server asked to wait; 0 if it did not
	Method     string        // such as GET
	URL        string        // scheme, host and path
	Body       string        // the start of the body, at most MaxBody bytes, valid UTF-8

	AskedToWait string // the original Retry-After; empty if there was none
	RequestID   string // identifies the request in the server's log; see RequestIDHeaders
	ContentType string // of the answer
}

// NewHTTPError returns the error for an answer. It reads the start of the body; the caller reads the rest and closes it.
// A date in Retry-After counts from now, corrected by AnsweredAt.
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
		start, _ := io.ReadAll(io.LimitReader(answer.Body, MaxBody)) // a truncated body does not change the status
		e.Body = cut(strings.ToValidUTF8(string(start), "\uFFFD"), MaxBody)
	}
	return e
}

// Error names the request and its answer, such as "GET http://127.0.0.1:8088/place: 503 Service Unavailable".
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

// PublicURL returns scheme, host and path of a URL, which may be logged. User, password, query and fragment may have
// secrets or personal data.
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
