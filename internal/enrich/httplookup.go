package enrich

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/quota"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// httpLookup asks one service over HTTP.
type httpLookup struct {
	client *http.Client
	method string
	url    template
	body   body  // nil for none
	limit  int64 // largest answer, in bytes
	pauses bool  // a Retry-After holds every further request
	now    func() time.Time
}

func newHTTPLookup(h *config.HTTPLookup, now func() time.Time) (*httpLookup, error) {
	url, urlErr := parseTemplate(h.URL)
	client, clientErr := newClient(h)
	l := &httpLookup{client: client, method: string(h.Method), url: url, limit: int64(h.MaxResponseBytes), pauses: h.RetryAfter != config.RetryAfterRecord, now: now}
	var bodyErr error
	if h.Body != nil {
		l.body, bodyErr = parseBody("http.body", h.Body)
	}
	return l, errors.Join(urlErr, clientErr, bodyErr, httpLimits(h))
}

// httpLimits refuses what the configuration's check refuses, for those who make steps without it.
func httpLimits(h *config.HTTPLookup) error {
	var faults []error
	if h.MaxResponseBytes < 1 {
		faults = append(faults, fmt.Errorf("http.max_response_bytes is %d, want at least 1", h.MaxResponseBytes))
	}
	switch {
	case h.Method != config.HTTPMethodGet && h.Method != config.HTTPMethodPost:
		faults = append(faults, fmt.Errorf("http.method is %q, want one of %q", h.Method, config.HTTPMethods()))
	case h.Method != config.HTTPMethodGet && !h.Idempotent:
		faults = append(faults, fmt.Errorf("http.method is %s without idempotent: true; what is not idempotent must not be repeated", h.Method))
	case h.Method == config.HTTPMethodGet && h.Body != nil:
		faults = append(faults, errors.New("http.body: a GET sends no body"))
	}
	return errors.Join(faults...)
}

func (l *httpLookup) close() { l.client.CloseIdleConnections() }

// prepare fills the feature's values in.
func (l *httpLookup) prepare(f *transform.Feature, contentHash string) (question, error) {
	target, err := l.url.fill(f)
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
		send: func(ctx context.Context) (transform.Value, quota.Advice, error) {
			return l.send(ctx, target, content, contentHash)
		},
	}, nil
}

// send makes one request and gives the JSON of its answer.
func (l *httpLookup) send(ctx context.Context, target *url.URL, content []byte, contentHash string) (transform.Value, quota.Advice, error) {
	request, err := http.NewRequestWithContext(ctx, l.method, target.String(), bytes.NewReader(content))
	if err != nil {
		return transform.Value{}, quota.Advice{}, fmt.Errorf("%s %s: %w", l.method, classify.PublicURL(target), err)
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
		return transform.Value{}, quota.Advice{}, l.lost(target, err)
	}
	defer func() { _ = answer.Body.Close() }()
	advice := quota.Read(answer.StatusCode, answer.Header, l.now())
	if !l.pauses {
		advice.Pause = 0
	}
	value, err := l.read(target, answer)
	return value, advice, err
}

// read gives the JSON of a successful answer.
func (l *httpLookup) read(target *url.URL, answer *http.Response) (transform.Value, error) {
	if answer.StatusCode/100 != 2 {
		failed := classify.NewHTTPError(answer, l.now())
		failed.Body = withoutQuery(failed.Body, target)
		_, _ = io.CopyN(io.Discard, answer.Body, drainBytes)
		return transform.Value{}, failed
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, l.limit+1))
	switch {
	case err != nil:
		return transform.Value{}, l.lost(target, err)
	case int64(len(text)) > l.limit:
		return transform.Value{}, l.badResponse(target, fmt.Sprintf("has more than %d bytes (max_response_bytes)", l.limit))
	case len(text) == 0:
		return transform.Value{}, l.badResponse(target, fmt.Sprintf("is empty (status %d)", answer.StatusCode))
	}
	value, err := transform.ParseValue(text)
	if err != nil {
		return transform.Value{}, l.badResponse(target, "is not JSON: "+err.Error())
	}
	return value, nil
}
