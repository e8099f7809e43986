package enrich

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/breaker"
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// service answers in the place of a network, so that a bubble of synctest holds its time.
type service struct {
	mu    sync.Mutex
	calls int
	act   func(*http.Request) (*http.Response, error)
}

func (s *service) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	s.calls++
	act := s.act
	s.mu.Unlock()
	return act(r)
}

func (s *service) is(act func(*http.Request) (*http.Response, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.act = act
}

// asked gives the number of requests since it was asked last.
func (s *service) asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.calls
	s.calls = 0
	return n
}

func status(code int) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: code, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(`{"name":"Ulm"}`)), Request: r}, nil
	}
}

func broken(err error) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) { return nil, err }
}

func hangs(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// later answers after a time, whatever the caller does.
func later(wait time.Duration, act func(*http.Request) (*http.Response, error)) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		<-time.NewTimer(wait).C // in a bubble's time
		return act(r)
	}
}

// guarded makes one step per breaker, each with a service of its own that works.
func guarded(t *testing.T, o Options, breakers ...*config.Breaker) (*Steps, []*service) {
	t.Helper()
	var configured []config.EnrichStep
	for i, b := range breakers {
		configured = append(configured, stepOf("http://places/{id}", func(s *config.EnrichStep) {
			s.Name, s.HTTP.Breaker, s.HTTP.MaxConnections = string(rune('a'+i)), b, 64
		}))
	}
	steps := must.Get(New(configured, o))(t)
	services := make([]*service, len(breakers))
	for i := range services {
		services[i] = &service{act: status(200)}
		steps.steps[i].providers[0].lookup.(*httpLookup).client.Transport = services[i]
	}
	return steps, services
}

// open lists the steps of which a breaker is open, or half-open.
func open(steps *Steps) []string {
	var names []string
	for _, s := range steps.Status() {
		if s.Circuit == breaker.StateOpen || s.Circuit == breaker.StateHalfOpen {
			names = append(names, s.Step)
		}
	}
	return names
}

// outcome names what one call of Apply gives: ok, hold, or a failure's code.
func outcome(ctx context.Context, steps *Steps) string {
	err := steps.Apply(ctx, parcel(), "")
	switch {
	case err == nil:
		return "ok"
	case isHold(err) != nil:
		return "hold"
	}
	return string(classify.Of(err).Code)
}

func isHold(err error) *retrytopics.UnavailableError {
	held, _ := errors.AsType[*retrytopics.UnavailableError](err)
	return held
}
