package enrich

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
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
	// unwrap extracts the wanted part of an answer; nil keeps all of it.
	unwrap func(what string, answer transform.Value) (transform.Value, error)
	// exception parses an answer that is not JSON; nil if the service has no other error format.
	exception func(what string, status int, text []byte) error
	limit     int64 // largest answer, in bytes
	pauses    bool  // a Retry-After holds every further request
	now       func() time.Time
}

func newHTTPLookup(h *config.HTTPLookup, now func() time.Time) (*httpLookup, error) {
	client, clientErr := newClient(h)
	l := &httpLookup{client: client, method: string(h.Method), limit: int64(h.MaxResponseBytes), pauses: h.RetryAfter != config.RetryAfterRecord, now: now}
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
		said := classify.NewResponse(answer)
		said.Body = beginning(text, target)
		err = classify.WithResponse(said, err)
	}
	return value, err
}

// refused returns the error for an unsuccessful answer. The service's own error format says more than most statuses; a
// status that says who refused, or when to retry, is kept.
func (l *httpLookup) refused(target *url.URL, answer *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(answer.Body, drainBytes)) // a truncated body does not change the status
	kept := *answer
	kept.Body = io.NopCloser(bytes.NewReader(text))
	failed := classify.NewHTTPError(&kept, l.now())
	failed.Body = withoutQuery(failed.Body, target)
	if l.exception == nil || slices.Contains([]int{401, 429, 502, 503, 504}, answer.StatusCode) {
		return failed
	}
	said := l.exception(l.method+" "+classify.PublicURL(target), answer.StatusCode, text)
	if said == nil {
		return failed
	}
	if trouble, ok := errors.AsType[*fault](said); ok && trouble.code == classify.CodeBadResponse && answer.StatusCode >= 500 {
		return classify.WithClass(classify.RetryBackoff, failed) // it looks like an outage, and the answer says that the request is not at fault
	}
	response := classify.NewResponse(answer)
	response.Body = beginning(text, target)
	return classify.WithResponse(response, said)
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
			if said := l.exception(what, status, text); said != nil {
				return transform.Value{}, said
			}
		}
		return transform.Value{}, l.badResponse(target, "is not JSON: "+err.Error())
	}
	if l.unwrap == nil {
		return value, nil
	}
	return l.unwrap(what, value)
}
