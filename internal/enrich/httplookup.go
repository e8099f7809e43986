package enrich

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// httpLookup asks one service over HTTP.
type httpLookup struct {
	client *http.Client
	method string
	target func(*transform.Feature) (*url.URL, error)
	body   body // nil if there is none
	// unwrap extracts the relevant part of an answer; nil keeps all of it.
	unwrap func(what string, answer transform.Value) (transform.Value, error)
	// exception parses an answer that is not JSON; nil if the service has no other error format.
	exception func(what string, status int, text []byte) error
	limit     int64 // largest answer, in bytes
	pauses    bool  // a Retry-After delays every further request
	now       func() time.Time
}

func newHTTPLookup(h *config.HTTPLookup) (*httpLookup, error) {
	client, clientErr := newClient(h)
	l := &httpLookup{client: client, method: string(h.Method), limit: int64(h.MaxResponseBytes), pauses: h.RetryAfter != config.RetryAfterRecord, now: time.Now}
	urlErr := l.address(h)
	var bodyErr error
	if h.Body != nil {
		l.body, bodyErr = parseBody("http.body", h.Body)
	}
	return l, errors.Join(urlErr, clientErr, bodyErr)
}

// address sets the URL, and how its answer is read.
func (l *httpLookup) address(h *config.HTTPLookup) error {
	switch {
	case h.WFS != nil:
		g, err := newGetFeature(h.URL, h.WFS)
		if err != nil {
			return err
		}
		l.target, l.unwrap, l.exception = g.fill, oneFeature, wfsException
		return nil
	case h.STAC != nil:
		t, err := parseAddress(strings.TrimRight(h.URL, "/") + "/collections/" + h.STAC.Collection + "/items/" + h.STAC.Item)
		l.target, l.unwrap = t.fill, stacItem
		return err
	}
	t, err := parseAddress(h.URL)
	l.target = t.fill
	if h.Answer == config.AnswerGeoJSON {
		l.unwrap = oneFeature
	}
	return err
}

func (l *httpLookup) close() { l.client.CloseIdleConnections() }

// prepare inserts the feature's values.
func (l *httpLookup) prepare(f *transform.Feature, contentHash string) (question, error) {
	target, err := l.target(f)
	if err != nil {
		return question{}, err
	}
	content, err := fillBody(l.body, f)
	if err != nil {
		return question{}, err
	}
	return question{
		key:  l.method + " " + target.String() + "\n" + string(content),
		what: l.method + " " + classify.PublicURL(target),
		asks: classify.Request{Method: l.method, URL: classify.PublicURL(target)},
		send: func(ctx context.Context) (transform.Value, QuotaAdvice, error) {
			return l.send(ctx, target, content, contentHash)
		},
	}, nil
}

// send makes one request and returns the JSON of its answer.
func (l *httpLookup) send(ctx context.Context, target *url.URL, content []byte, contentHash string) (transform.Value, QuotaAdvice, error) {
	request, err := http.NewRequestWithContext(ctx, l.method, target.String(), bytes.NewReader(content))
	if err != nil {
		return transform.Value{}, QuotaAdvice{}, fmt.Errorf("%s %s: %w", l.method, classify.PublicURL(target), err)
	}
	request.Header.Set("Accept", "application/json, application/geo+json")
	request.Header.Set("User-Agent", "switchback")
	if content != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if l.method != http.MethodGet && contentHash != "" {
		request.Header.Set("Idempotency-Key", contentHash)
	}
	answer, err := l.client.Do(request)
	if err != nil {
		return transform.Value{}, QuotaAdvice{}, l.lost(target, err)
	}
	defer func() { _ = answer.Body.Close() }()
	advice := ReadQuotaAdvice(answer.StatusCode, answer.Header, l.now())
	if !l.pauses {
		advice.Pause = 0
	}
	value, err := l.read(target, answer)
	obeyReset(err, advice)
	return value, advice, err
}

// obeyReset sets the retry time of a record that a rate limit refused, if the service names it only in the rate limit
// headers (S2-2).
func obeyReset(err error, advice QuotaAdvice) {
	refused, ok := errors.AsType[*classify.HTTPError](err)
	if ok && refused.Status == http.StatusTooManyRequests && refused.RetryAfter == 0 && advice.Known && advice.Remaining == 0 {
		refused.RetryAfter = advice.Reset
	}
}

// read returns the JSON of a successful answer.
func (l *httpLookup) read(target *url.URL, answer *http.Response) (transform.Value, error) {
	if answer.StatusCode/100 != 2 {
		return transform.Value{}, l.refused(target, answer)
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, l.limit+1))
	if err != nil {
		return transform.Value{}, classify.WithResponse(classify.NewResponse(answer), l.lost(target, err))
	}
	value, err := l.parse(target, answer.StatusCode, text)
	if err != nil {
		recorded := classify.NewResponse(answer)
		recorded.Body = beginning(text, target)
		err = classify.WithResponse(recorded, err)
	}
	return value, err
}

// refused returns the error for an unsuccessful answer. The service's own error format is more specific than most
// statuses. A status that identifies who refused, or when to retry, is kept.
func (l *httpLookup) refused(target *url.URL, answer *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(answer.Body, drainBytes)) // a truncated body does not change the status
	kept := *answer
	kept.Body = io.NopCloser(bytes.NewReader(text))
	failed := classify.NewHTTPError(&kept, l.now())
	failed.Body = withoutQuery(failed.Body, target)
	if l.exception == nil || slices.Contains([]int{401, 429, 502, 503, 504}, answer.StatusCode) {
		return failed
	}
	reported := l.exception(l.method+" "+classify.PublicURL(target), answer.StatusCode, text)
	if reported == nil {
		return failed
	}
	if trouble, ok := errors.AsType[classify.Coded](reported); ok && trouble.FailureCode() == classify.CodeBadResponse && answer.StatusCode >= 500 {
		return classify.WithClass(classify.RetryBackoff, failed) // it looks like an outage, and the answer says that the request is not at fault
	}
	response := classify.NewResponse(answer)
	response.Body = beginning(text, target)
	return classify.WithResponse(response, reported)
}

// parse returns the JSON of an answer, or the reason why it is not the expected JSON.
func (l *httpLookup) parse(target *url.URL, status int, text []byte) (transform.Value, error) {
	switch {
	case int64(len(text)) > l.limit:
		return transform.Value{}, l.badResponse(target, fmt.Sprintf("has more than %d bytes (max_response_bytes)", l.limit))
	case len(text) == 0:
		return transform.Value{}, l.badResponse(target, fmt.Sprintf("is empty (status %d)", status))
	}
	what := l.method + " " + classify.PublicURL(target)
	value, err := transform.ParseValue(text)
	if err != nil {
		if l.exception != nil {
			if reported := l.exception(what, status, text); reported != nil {
				return transform.Value{}, reported
			}
		}
		return transform.Value{}, l.badResponse(target, "is not JSON: "+err.Error())
	}
	if l.unwrap == nil {
		return value, nil
	}
	return l.unwrap(what, value)
}

// lost wraps the error of a request without a complete answer as a network error. It removes the library's own wrapper,
// because that shows the query.
func (l *httpLookup) lost(target *url.URL, err error) error {
	if outer, ok := errors.AsType[*url.Error](err); ok {
		err = outer.Err
	}
	if errors.Is(err, io.EOF) { // closed before the first byte of the answer
		err = io.ErrUnexpectedEOF
	}
	return &net.OpError{Op: l.method + " " + classify.PublicURL(target), Err: err}
}

func (l *httpLookup) badResponse(target *url.URL, what string) error {
	return failed(classify.CodeBadResponse, "%s %s: the answer %s", l.method, classify.PublicURL(target), strings.TrimSpace(what))
}

// beginning returns the start of an answer's body in a form that may be shown.
func beginning(text []byte, target *url.URL) string {
	return withoutQuery(strings.ToValidUTF8(string(text[:min(len(text), classify.MaxBody)]), "\uFFFD"), target)
}

// leastHidden is the shortest query value that is masked in a body; a shorter one may occur by chance.
const leastHidden = 4

// withoutQuery masks the query's values in a server's answer. Many servers repeat the request, and a key in the URL must
// not appear in a header of a dead letter.
func withoutQuery(body string, target *url.URL) string {
	hide := queryValues(target)
	if len(hide) > 0 {
		body = strings.TrimRight(body, "\uFFFD") // of a cut character
	}
	for _, value := range hide {
		body = without(body, []rune(value))
	}
	return body
}

// queryValues returns the query's values, encoded and decoded, the longest first, because one may be a prefix of
// another.
func queryValues(target *url.URL) []string {
	var out []string
	for pair := range strings.SplitSeq(target.RawQuery, "&") {
		_, written, _ := strings.Cut(pair, "=")
		out = append(out, written)
		if meant, err := url.QueryUnescape(written); err == nil {
			out = append(out, meant)
		}
	}
	out = slices.DeleteFunc(out, func(v string) bool { return len(v) < leastHidden })
	slices.SortFunc(out, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	return slices.Compact(out)
}

// without masks a value wherever a text contains it, in any encoding.
func without(text string, value []rune) string {
	var b strings.Builder
	for text != "" {
		if n := repeated(text, value); n > 0 {
			b.WriteString("…")
			text = text[n:]
			continue
		}
		b.WriteByte(text[0])
		text = text[1:]
	}
	return b.String()
}

// repeated returns how many bytes at the start of a text repeat a value, or 0. A text that ends before the value was
// cut.
func repeated(text string, value []rune) int {
	at := 0
	for i, r := range value {
		rest := text[at:]
		n := form(rest, r)
		switch {
		case n > 0:
			at += n
		case i >= leastHidden && (rest == "" || len(rest) < maxForm && strings.ContainsRune(`%\&`, rune(rest[0]))):
			return len(text)
		default:
			return 0
		}
	}
	return at
}

// maxForm is more than the longest encoding of a character, in bytes.
const maxForm = 12

// form returns how many bytes at the start of a text encode a character: as itself, or escaped for a URL (RFC 3986), for
// JSON (RFC 8259) or for HTML; 0 if they do not.
func form(text string, r rune) int {
	if text == "" {
		return 0
	}
	switch text[0] {
	case '%':
		var percent strings.Builder
		for _, b := range []byte(string(r)) {
			fmt.Fprintf(&percent, "%%%02x", b)
		}
		if n := begins(text, percent.String()); n > 0 {
			return n
		}
	case '\\':
		for _, escaped := range []string{fmt.Sprintf(`\u%04x`, r), `\` + string(r)} {
			if n := begins(text, escaped); n > 0 {
				return n
			}
		}
	case '&':
		named := map[rune]string{'&': "&amp;", '<': "&lt;", '>': "&gt;", '"': "&quot;", '\'': "&apos;"}
		for _, escaped := range []string{fmt.Sprintf("&#%d;", r), fmt.Sprintf("&#x%x;", r), named[r]} {
			if n := begins(text, escaped); n > 0 {
				return n
			}
		}
	case '+':
		if r == ' ' {
			return 1
		}
	}
	if strings.HasPrefix(text, string(r)) {
		return len(string(r))
	}
	return 0
}

// begins returns the length of an escape at the start of a text, with digits in either case; 0 if there is none.
func begins(text, escape string) int {
	if escape == "" || len(text) < len(escape) || !strings.EqualFold(text[:len(escape)], escape) {
		return 0
	}
	return len(escape)
}
