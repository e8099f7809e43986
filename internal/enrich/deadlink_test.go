package enrich

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/config"

	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

// relay forwards connections to a target, and lets those that there are die without a sign, as a firewall does that has
// forgotten them.
type relay struct {
	net.Listener
	made atomic.Int64 // connections so far
	dead atomic.Int64 // the first so many carry nothing any more
	open sync.WaitGroup
}

func newRelay(t *testing.T, target string) *relay {
	t.Helper()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	r := &relay{Listener: l}
	r.open.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", target)
			if err != nil {
				_ = client.Close()
				continue
			}
			number := r.made.Add(1)
			r.open.Go(func() { r.carry(server, client, number) })
			r.open.Go(func() { r.carry(client, server, number) })
		}
	})
	return r
}

func (r *relay) carry(to, from net.Conn, number int64) {
	defer func() { _ = to.Close() }()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		if number <= r.dead.Load() {
			continue
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// Over HTTP/2 all requests share one connection. When that is dead without a sign, a request that times out does not end it:
// the service would be down for as long as the system sends again, a quarter of an hour, though it answers everybody else.
func TestClient_leaves_a_connection_of_HTTP2_that_is_dead(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 {
			t.Errorf("the request came over %s", r.Proto)
		}
		_, _ = io.WriteString(w, `{"name":"Ulm"}`)
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	at := must.Get(url.Parse(server.URL))(t)
	way := newRelay(t, at.Host)
	defer way.open.Wait()
	defer func() { _ = way.Close() }()

	transport := newTransport(addressPolicy{AllowPrivate: true}, 4, func(*http.Request) (*url.URL, error) { return nil, nil })
	transport.TLSClientConfig = server.Client().Transport.(*http.Transport).TLSClientConfig
	if transport.HTTP2 == nil {
		t.Error("nobody looks whether a connection is alive")
	} else { // as it is, only sooner
		transport.HTTP2.SendPingTimeout /= 100
		transport.HTTP2.PingTimeout /= 100
	}
	steps := make1(t, stepOf("https://"+way.Addr().String()+"/place/{id}", func(s *config.EnrichStep) { s.HTTP.Timeout = config.Duration(2 * time.Second) }))
	steps.steps[0].providers[0].lookup.(*httpLookup).client.Transport = transport
	defer transport.CloseIdleConnections()

	ctx, cancel := context.WithTimeout(t.Context(), testrun.Patient(30*time.Second))
	defer cancel()
	ask := func() error { return steps.Apply(t.Context(), parcel(), "") }
	until := func(what string) {
		eventually.Until(ctx, t, what, func() (bool, string) {
			err := ask()
			return err == nil, fmt.Sprint(err)
		})
	}
	until("the first answer")
	dead := way.made.Load()
	way.dead.Store(dead)
	until("an answer over another connection")
	if way.made.Load() == dead {
		t.Error("the answer came over the dead connection")
	}
}
