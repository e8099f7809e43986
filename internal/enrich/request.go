package enrich

import (
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

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/transform"
)

const (
	maxRedirects   = 3
	maxHeaderBytes = 64 << 10
	// drainBytes is how much of an answer that nobody wants is read, so that its connection can be used again.
	drainBytes = 64 << 10
)

// newClient makes a client with a connection pool of its own.
func newClient(connections int) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			MaxConnsPerHost:        connections,
			MaxIdleConns:           connections,
			MaxIdleConnsPerHost:    connections,
			MaxResponseHeaderBytes: maxHeaderBytes,
			ForceAttemptHTTP2:      true,
		},
		CheckRedirect: stayOnHost,
	}
}

// stayOnHost follows a redirect to the same host, but never from https to http. Any other one is left as the answer.
func stayOnHost(next *http.Request, before []*http.Request) error {
	first := before[0].URL
	downgraded := first.Scheme == "https" && next.URL.Scheme != "https"
	if len(before) > maxRedirects || next.URL.Host != first.Host || downgraded {
		return http.ErrUseLastResponse
	}
	return nil
}

// ask sends one GET and gives the JSON of the answer. Waiting for a free connection does not count towards the time
// limit of the request; the caller's context bounds both. The breaker is asked last, so that what waited for a connection
// while the service went down is not sent any more.
func (s *step) ask(ctx context.Context, target *url.URL) (transform.Value, error) {
	select {
	case s.turns <- struct{}{}:
		defer func() { <-s.turns }()
	case <-ctx.Done():
		return transform.Value{}, fmt.Errorf("wait for one of %d connections: %w", cap(s.turns), ctx.Err())
	}
	body, err := s.getGuarded(ctx, target)
	if err != nil {
		return transform.Value{}, err
	}
	value, err := transform.ParseValue(body)
	if err != nil {
		return transform.Value{}, badResponse(target, "is not JSON: "+err.Error())
	}
	return value, nil
}

// getGuarded asks under the breaker and within the time limit. Whatever happens, the breaker hears of it: a probe that
// never came back would keep it open for good.
func (s *step) getGuarded(ctx context.Context, target *url.URL) (body []byte, err error) {
	p, err := s.breaker.enter()
	if err != nil {
		return nil, err
	}
	said := silent
	defer func() { err = s.breaker.leave(ctx, p, said, err) }()
	limited, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	body, err = s.get(limited, target)
	said = judge(err, s.classify)
	return body, err
}

// get gives the body of a successful answer.
func (s *step) get(ctx context.Context, target *url.URL) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("GET %s: %w", classify.PublicURL(target), err)
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", "switchback")
	answer, err := s.client.Do(request)
	if err != nil {
		return nil, lost(target, err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode/100 != 2 {
		failed := classify.NewHTTPError(answer, s.now())
		failed.Body = withoutQuery(failed.Body, target)
		_, _ = io.CopyN(io.Discard, answer.Body, drainBytes)
		return nil, failed
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, s.limit+1))
	switch {
	case err != nil:
		return nil, lost(target, err)
	case int64(len(body)) > s.limit:
		return nil, badResponse(target, fmt.Sprintf("has more than %d bytes (http.max_response_bytes)", s.limit))
	case len(body) == 0:
		return nil, badResponse(target, fmt.Sprintf("is empty (status %d)", answer.StatusCode))
	}
	return body, nil
}

// lost wraps the error of a request that got no whole answer, so that it is known as one of the network whatever it
// holds. The library's own wrapper is taken off, because it shows the query.
func lost(target *url.URL, err error) error {
	if outer, ok := errors.AsType[*url.Error](err); ok {
		err = outer.Err
	}
	if errors.Is(err, io.EOF) { // closed before the first byte of the answer
		err = io.ErrUnexpectedEOF
	}
	return &net.OpError{Op: "GET " + classify.PublicURL(target), Err: err}
}

// leastHidden is how long a value of the query must be to be hidden in a body; shorter ones stand there by chance.
const leastHidden = 4

// withoutQuery hides the values of the query in what a server answered, since many repeat the request: a key in the URL
// must not come out in a header of a dead letter that way.
func withoutQuery(body string, target *url.URL) string {
	var hide []string
	for _, values := range target.Query() {
		for _, value := range values {
			if len(value) >= leastHidden {
				hide = append(hide, value, url.QueryEscape(value), escape(value, true))
			}
		}
	}
	slices.SortFunc(hide, func(a, b string) int { return cmp.Compare(len(b), len(a)) }) // the longest first: one may begin another
	for _, value := range hide {
		body = strings.ReplaceAll(body, value, "…")
	}
	return body
}

func badResponse(target *url.URL, what string) error {
	return &fault{classify.CodeBadResponse, fmt.Sprintf("GET %s: the answer %s", classify.PublicURL(target), strings.TrimSpace(what))}
}
