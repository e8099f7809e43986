package enrich

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/pkg/classify"
)

func TestAddressKindOf(t *testing.T) {
	for text, want := range map[string]addressKind{
		"9.9.9.9": addressPublic, "2606:4700::1111": addressPublic, "::ffff:9.9.9.9": addressPublic, "64:ff9b::909:909": addressPublic, "2002:909:909::1": addressPublic,
		"127.0.0.1": addressLoopback, "127.255.0.1": addressLoopback, "::1": addressLoopback, "::ffff:127.0.0.1": addressLoopback, "64:ff9b::7f00:1": addressLoopback,
		"2002:7f00:1::": addressLoopback,
		"10.0.0.1":      addressPrivate, "172.16.0.1": addressPrivate, "172.32.0.1": addressPublic, "192.168.1.1": addressPrivate, "fc00::1": addressPrivate,
		"100.64.0.1": addressPrivate, "100.128.0.1": addressPublic, "::ffff:10.1.2.3": addressPrivate,
		"169.254.1.1": addressLinkLocal, "fe80::1": addressLinkLocal, "fe80::1%eth0": addressLinkLocal,
		"169.254.169.254": addressMetadata, "fd00:ec2::254": addressMetadata, "100.100.100.200": addressMetadata, "192.0.0.192": addressMetadata,
		"64:ff9b::a9fe:a9fe": addressMetadata, "168.63.129.16": addressMetadata, "fd20:ce::254": addressMetadata, "fd00:ec2::23": addressMetadata,
		"fec0::1": addressPrivate, "64:ff9b:1::7f00:1": addressReserved, "::7f00:1": addressReserved, "::ffff:0:7f00:1": addressReserved, "100::1": addressReserved,
		"224.0.0.1": addressMulticast, "ff02::1": addressMulticast, "239.255.255.250": addressMulticast,
		"0.0.0.0": addressUnspecified, "0.1.2.3": addressUnspecified, "::": addressUnspecified,
		"255.255.255.255": addressReserved, "240.0.0.1": addressReserved, "198.18.0.1": addressReserved, "192.0.0.8": addressReserved, "2001::1": addressReserved,
	} {
		expect.Equal(t, addressKindOf(netip.MustParseAddr(text)), want, text)
	}
	expect.Equal(t, addressKindOf(netip.Addr{}), addressReserved, "no address")
}

func TestAddressPolicy(t *testing.T) {
	listed := must.Get(parseAddressPolicy(false, []string{"127.0.0.1/32", "169.254.169.254/32"}))(t)
	for _, c := range []struct {
		policy addressPolicy
		addr   string
		ok     bool
	}{
		{addressPolicy{}, "9.9.9.9", true},
		{addressPolicy{}, "127.0.0.1", false},
		{addressPolicy{}, "10.0.0.1", false},
		{addressPolicy{AllowPrivate: true}, "127.0.0.1", true},
		{addressPolicy{AllowPrivate: true}, "::ffff:10.0.0.1", true},
		{addressPolicy{AllowPrivate: true}, "169.254.169.254", false},
		{addressPolicy{AllowPrivate: true}, "fd00:ec2::254", false},
		{addressPolicy{AllowPrivate: true}, "fd20:ce::254", false},
		{addressPolicy{AllowPrivate: true}, "224.0.0.1", false},
		{addressPolicy{AllowPrivate: true}, "0.0.0.0", false},
		{listed, "127.0.0.1", true},
		{listed, "::ffff:127.0.0.1", true},
		{listed, "127.0.0.2", false},
		{listed, "169.254.169.254", true},
	} {
		err := c.policy.Check(netip.MustParseAddr(c.addr))
		expect.That(t, (err == nil) == c.ok, "%+v: %s: %v", c.policy, c.addr, err)
		expect.That(t, err == nil || strings.Contains(err.Error(), "allow_networks"), "the error names no key: %v", err)
	}
	_, err := parseAddressPolicy(false, []string{"10.0.0.0"})
	expect.That(t, err != nil && strings.Contains(err.Error(), "10.0.0.0"), "got %v", err)
}

// A name that resolves to an inner address is refused when it is dialled, before a packet is sent.
func TestAddressPolicy_Control_after_the_name_is_resolved(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must.Do(t, err)
	defer listener.Close()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	dial := func(p addressPolicy) error {
		conn, err := (&net.Dialer{ControlContext: p.Control}).DialContext(t.Context(), "tcp4", "localhost:"+port)
		if err == nil {
			_ = conn.Close()
		}
		return err
	}
	err = dial(addressPolicy{})
	must.That(t, err != nil && strings.Contains(err.Error(), "127.0.0.1 is a loopback address"), "got %v", err)
	f := classify.Of(err)
	expect.That(t, f.Code == classify.CodeAddressRefused && f.Class == classify.Permanent, "classified as %s, %s", f.Class, f.Code)
	expect.Do(t, dial(addressPolicy{AllowPrivate: true}))
	expect.That(t, (addressPolicy{}).Control(t.Context(), "unix", "/run/x.sock", nil) != nil, "a text that is not an IP address was allowed")
}

// FuzzAddressKindOf checks that an IPv4 address has the same kind in every notation.
func FuzzAddressKindOf(f *testing.F) {
	f.Add([]byte{127, 0, 0, 1})
	f.Add([]byte{169, 254, 169, 254})
	f.Add([]byte{9, 9, 9, 9})
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) != 4 {
			t.Skip("an IPv4 address has four bytes")
		}
		plain := netip.AddrFrom4([4]byte(b))
		mapped := netip.AddrFrom16(plain.As16())
		nat64 := netip.AddrFrom16([16]byte{0, 0x64, 0xff, 0x9b, 12: b[0], 13: b[1], 14: b[2], 15: b[3]})
		sixToFour := netip.AddrFrom16([16]byte{0x20, 0x02, b[0], b[1], b[2], b[3]})
		for _, dressed := range []netip.Addr{mapped, nat64, sixToFour} {
			expect.That(t, addressKindOf(dressed) == addressKindOf(plain), "%s is %s, %s is %s", dressed, addressKindOf(dressed), plain, addressKindOf(plain))
		}
	})
}

// The status with which a proxy refuses a tunnel decides whether the failure is transient.
func TestProxy_a_tunnel_that_is_refused_is_known_by_its_status(t *testing.T) {
	for status, want := range map[int]struct {
		class classify.Class
		code  classify.Code
	}{
		407: {classify.Permanent, classify.CodeHTTPClientError},
		403: {classify.Permanent, classify.CodeHTTPForbidden},
		404: {classify.Permanent, classify.CodeHTTPClientError}, // not a proxy; the failure concerns no single record
		502: {classify.RetryBackoff, classify.CodeHTTPBadGateway},
		503: {classify.RetryBackoff, classify.CodeHTTPUnavailable},
	} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(status)
				_, _ = w.Write([]byte("<html>the proxy's own page</html>"))
			}))
			defer proxy.Close()
			via := must.Get(url.Parse(proxy.URL))(t)
			via.User = url.UserPassword("ana", secret)
			steps := mustSteps(t, stepOf("https://places.example/place?id={id}&key="+secret, func(s *config.EnrichStep) { s.HTTP.AllowPrivate = false }))
			steps.steps[0].providers[0].lookup.(*httpLookup).client.Transport = newTransport(addressPolicy{}, 4, http.ProxyURL(via))
			wantFailure(t, steps.Apply(t.Context(), parcel(), ""), want.class, want.code, "proxy")
		})
	}
}

// deafListener is a listener whose first connections can be made to drop everything silently, like a firewall that has
// forgotten them.
type deafListener struct {
	net.Listener
	accepted, dead atomic.Int64
}

func (l *deafListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	return forgettable{conn, l, l.accepted.Add(1)}, err
}

type forgettable struct {
	net.Conn
	by     *deafListener
	number int64
}

func (c forgettable) Read(b []byte) (int, error) {
	for {
		n, err := c.Conn.Read(b)
		if err != nil || c.number > c.by.dead.Load() {
			return n, err
		}
	}
}

func (c forgettable) Write(b []byte) (int, error) {
	if c.number <= c.by.dead.Load() {
		return len(b), nil
	}
	return c.Conn.Write(b)
}

// Over HTTP/2, all requests share one connection. If it is dead without a sign, a request's timeout does not close it.
// Without pings, the service would seem down until the system gives up retransmission, after about 15 minutes.
func TestClient_leaves_a_connection_of_HTTP2_that_is_dead(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		expect.That(t, r.ProtoMajor == 2, "the request came over %s", r.Proto)
		_, _ = io.WriteString(w, `{"name":"Ulm"}`)
	}))
	listener := &deafListener{Listener: server.Listener}
	server.Listener, server.EnableHTTP2 = listener, true
	server.StartTLS()
	defer server.Close()

	transport := newTransport(addressPolicy{AllowPrivate: true}, 4, func(*http.Request) (*url.URL, error) { return nil, nil })
	transport.TLSClientConfig = server.Client().Transport.(*http.Transport).TLSClientConfig
	if transport.HTTP2 == nil {
		t.Error("the connection is not checked for liveness")
	} else { // the same connection, only sooner
		transport.HTTP2.SendPingTimeout /= 100
		transport.HTTP2.PingTimeout /= 100
	}
	steps := mustSteps(t, stepOf(server.URL+"/place/{id}", func(s *config.EnrichStep) { s.HTTP.Timeout = config.Duration(2 * time.Second) }))
	steps.steps[0].providers[0].lookup.(*httpLookup).client.Transport = transport
	defer transport.CloseIdleConnections()

	ctx := testrun.Context(t, 30*time.Second)
	ask := func() error { return steps.Apply(t.Context(), parcel(), "") }
	until := func(what string) {
		eventually.Until(ctx, t, what, func() (bool, string) {
			err := ask()
			return err == nil, fmt.Sprint(err)
		})
	}
	until("the first answer")
	dead := listener.accepted.Load()
	listener.dead.Store(dead)
	until("an answer over another connection")
	expect.That(t, listener.accepted.Load() != dead, "the answer came over the dead connection")
}

// answerWith answers with a status and headers.
func answerWith(code int, pairs ...string) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		answer, err := status(code)(r)
		for i := 0; i < len(pairs); i += 2 {
			answer.Header.Set(pairs[i], pairs[i+1])
		}
		return answer, err
	}
}

// S2-2: once a service reports that no requests are left, nothing is sent until its reset, and no attempt is used.
func TestQuota_S2_2_is_obeyed_before_it_is_hit(t *testing.T) {
	for name, headers := range map[string][]string{
		"X-RateLimit": {"X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "20"},
		"RateLimit":   {"RateLimit", `"day";r=0;t=20`, "RateLimit-Policy", `"day";q=100`},
		"draft-06":    {"RateLimit", "limit=100, remaining=0, reset=20"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				steps, services := guarded(t, Options{}, nil)
				services[0].is(answerWith(200, headers...))
				must.Equal(t, outcome(t.Context(), steps), "ok")
				wantDeferral(t, steps, 20*time.Second, "rate limit")
				got := callConcurrently(t, steps, 100)
				expect.That(t, got["deferred"] == 100 && services[0].newRequests() == 1, "outcomes %v", got)
				s := steps.Status()[0]
				expect.That(t, s.QuotaKnown && s.QuotaLeft == 0, "status %+v", s)
				time.Sleep(20 * time.Second) //nolint:forbidigo // the time of a bubble
				services[0].is(status(200))
				expect.Equal(t, outcome(t.Context(), steps), "ok")
			})
		})
	}
}

// S1-6: a refused record waits as long as the service asks. Requests in progress and later ones are deferred and use
// no attempt.
func TestQuota_S1_6_retry_after_concerns_the_service(t *testing.T) {
	for _, code := range []int{429, 503} {
		synctest.Test(t, func(t *testing.T) {
			steps, services := guarded(t, Options{}, nil)
			services[0].is(later(time.Second, answerWith(code, "Retry-After", "30")))
			got := callConcurrently(t, steps, 40)
			expect.That(t, got["deferred"] == 39 && services[0].newRequests() == 40, "%d: outcomes %v of 40 concurrent requests", code, got)
			got = callConcurrently(t, steps, 40)
			expect.That(t, got["deferred"] == 40 && services[0].newRequests() == 0, "%d: outcomes %v of those that follow", code, got)
			time.Sleep(30 * time.Second) //nolint:forbidigo // the time of a bubble
			services[0].is(status(200))
			got = callConcurrently(t, steps, 40)
			expect.That(t, got["ok"] == 40, "%d: outcomes %v afterwards", code, got)
		})
	}
}

// The client's own rate is kept. A record that would wait longer than a request's timeout is held.
func TestRate_is_kept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := stepOf("http://places/{id}", func(s *config.EnrichStep) {
			s.Name, s.HTTP.MaxConnections, s.HTTP.Timeout = "a", 1000, config.Duration(2*time.Second)
			s.HTTP.Rate = &config.Rate{PerSecond: 10, Burst: 5}
		})
		steps := must.Get(newSteps([]config.EnrichStep{c}, Options{}))(t)
		places := &service{act: status(200)}
		steps.steps[0].providers[0].lookup.(*httpLookup).client.Transport = places
		began := time.Now()
		got := callConcurrently(t, steps, 100)
		took := time.Since(began)
		expect.That(t, got["ok"] == 25 && got["deferred"] == 75 && took == 2*time.Second, "%v in %v, want 5 at once and 10 a second for 2 s", got, took)
		expect.Equal(t, places.newRequests(), 25)
	})
}

func TestPool_waiting_ends_with_the_context(t *testing.T) {
	steps := mustSteps(t, stepOf("http://127.0.0.1:1/", func(s *config.EnrichStep) { s.HTTP.MaxConnections = 1 }))
	steps.steps[0].providers[0].turns <- struct{}{} // another request has the only connection
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wantFailure(t, steps.Apply(ctx, parcel(), ""), classify.RetryBackoff, classify.CodeCanceled, "wait for one of 1 connections")
}
