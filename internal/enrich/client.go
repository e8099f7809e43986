package enrich

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/switchback-geo/switchback/internal/config"

	"github.com/switchback-geo/switchback/pkg/classify"
)

const (
	maxHeaderBytes = 64 << 10
	// drainBytes is how much of an unwanted answer is read, so that its connection can be reused.
	drainBytes = 64 << 10
	// silence is how long an HTTP/2 connection may be silent before it is pinged, and how long it has to answer. All
	// requests share one connection, and requests that time out do not close it. TCP keep-alive uses the same value.
	silence = 15 * time.Second
)

// newClient returns a client with its own connection pool, which connects to no address that the policy refuses.
func newClient(h *config.HTTPLookup) (*http.Client, error) {
	policy, err := parseAddressPolicy(h.AllowPrivate, h.AllowNetworks)
	if err != nil {
		return nil, err
	}
	return &http.Client{
		Transport:     redirecting{newTransport(policy, h.MaxConnections, http.ProxyFromEnvironment)},
		CheckRedirect: stayOnHost(h.MaxRedirects),
	}, nil
}

// proxies returns the proxy of a request, or nil.
type proxies func(*http.Request) (*url.URL, error)

func newTransport(policy addressPolicy, connections int, find proxies) *http.Transport {
	return &http.Transport{
		Proxy:                  find.allowedBy(policy),
		DialContext:            find.dialer(policy),
		OnProxyConnectResponse: tunnelRefused,
		MaxConnsPerHost:        connections,
		MaxIdleConns:           connections,
		MaxIdleConnsPerHost:    connections,
		MaxResponseHeaderBytes: maxHeaderBytes,
		ForceAttemptHTTP2:      true,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: silence, PingTimeout: silence},
	}
}

// allowedBy returns proxies for targets that the policy allows. A proxy resolves names itself, where the policy cannot
// see it; an address in the URL is checked here.
func (find proxies) allowedBy(policy addressPolicy) proxies {
	return func(r *http.Request) (*url.URL, error) {
		via, err := find(r)
		if err != nil || via == nil {
			return nil, err
		}
		if addr, err := netip.ParseAddr(r.URL.Hostname()); err == nil {
			if err := policy.Check(addr); err != nil {
				return nil, err
			}
		}
		return via, nil
	}
}

// tunnelRefused returns the error for a proxy that does not connect to the service, by its status, of which the library
// keeps only the text. A proxy's failure concerns no single record, so a status such as 404 does not make the record
// bad.
func tunnelRefused(_ context.Context, proxy *url.URL, _ *http.Request, answer *http.Response) error {
	if answer.StatusCode == http.StatusOK {
		return nil
	}
	withoutBody := *answer
	withoutBody.Body = nil // it belongs to the connection
	reported := classify.NewHTTPError(&withoutBody, time.Now())
	if reported.Status == http.StatusNotFound || reported.Status == http.StatusGone {
		return failed(classify.CodeHTTPClientError, "the proxy %s does not connect: %v", classify.PublicURL(proxy), reported)
	}
	return fmt.Errorf("the proxy %s does not connect: %w", classify.PublicURL(proxy), reported)
}

// dialer connects to the addresses that the policy allows, and to the proxies, which the operator chose.
func (find proxies) dialer(policy addressPolicy) func(ctx context.Context, network, address string) (net.Conn, error) {
	guarded := &net.Dialer{ControlContext: policy.Control}
	open := &net.Dialer{}
	chosen := find.addresses()
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if chosen[address] {
			return open.DialContext(ctx, network, address)
		}
		return guarded.DialContext(ctx, network, address)
	}
}

// addresses returns host:port of the proxies for http and https.
func (find proxies) addresses() map[string]bool {
	out := map[string]bool{}
	for _, scheme := range []string{"http", "https"} {
		via, err := find(&http.Request{URL: &url.URL{Scheme: scheme, Host: "switchback.invalid"}})
		if err != nil || via == nil {
			continue
		}
		port := via.Port()
		if port == "" {
			port = map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}[via.Scheme]
		}
		out[net.JoinHostPort(via.Hostname(), port)] = true
	}
	return out
}

// redirecting returns a redirect to an invalid URL as the answer. The client would return an error that looks like a
// network error, and would show the address with any secrets in it.
type redirecting struct{ *http.Transport }

// RoundTrip makes one request.
func (t redirecting) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := t.Transport.RoundTrip(r)
	if err != nil || answer.StatusCode/100 != 3 {
		return answer, err
	}
	if _, unfit := r.URL.Parse(answer.Header.Get("Location")); unfit != nil {
		answer.Header.Del("Location")
	}
	return answer, nil
}

// stayOnHost follows a number of redirects to the same host, but never from https to http, and never one that would turn
// a POST into a GET. Any other redirect is returned as the answer.
func stayOnHost(limit int) func(*http.Request, []*http.Request) error {
	return func(next *http.Request, before []*http.Request) error {
		first := before[0]
		downgraded := first.URL.Scheme == "https" && next.URL.Scheme != "https"
		if len(before) > limit || next.URL.Host != first.URL.Host || downgraded || next.Method != first.Method {
			return http.ErrUseLastResponse
		}
		return nil
	}
}
