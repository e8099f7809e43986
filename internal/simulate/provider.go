package simulate

import (
	"slices"
	"time"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/enrich"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// reply is one way in which an attempt can fail.
type reply struct {
	failure classify.Failure
	latency time.Duration
	down    bool // a circuit breaker counts it
}

// window is a time at which a share of the requests gets a reply.
type window struct {
	from, to time.Duration
	share    float64
	reply    int // index into replies
}

func (w window) at(t time.Duration) bool { return w.from <= t && t < w.to }

// provider is a service with all its ways to fail.
type provider struct {
	name        string
	latency     time.Duration
	connections int // in one instance; 0: no limit
	breaker     *config.Breaker
	// In the order in which they are asked; the first that hits counts.
	outages []window
	limit   *RateLimit
	limited int // index of the reply of the rate limit
	errors  window
}

// world is a scenario made ready: the services in the order in which an attempt asks them, and all replies.
type world struct {
	Scenario
	sys       System
	providers []provider
	replies   []reply
	bad       int // index of the reply of a bad record
}

func newWorld(sys System, s Scenario) *world {
	w := &world{Scenario: s, sys: sys}
	w.bad = w.add(sys, &transform.Error{Code: classify.CodeMissingRequired, Stage: classify.StageTransform, Message: "a bad record"}, 0)
	for _, name := range append(sys.stepNames(), Handler) {
		i := slices.IndexFunc(s.Providers, func(p Provider) bool { return p.Name == name })
		if i < 0 {
			continue // it answers at once, always
		}
		step := Step{Name: name}
		if at := slices.IndexFunc(sys.Steps, func(s Step) bool { return s.Name == name }); at >= 0 {
			step = sys.Steps[at]
		}
		w.providers = append(w.providers, w.provider(s.Providers[i], step))
	}
	return w
}

func (w *world) provider(p Provider, step Step) provider {
	made := provider{
		name: p.Name, latency: p.Latency.Std(), connections: step.Connections, breaker: step.Breaker, limit: p.RateLimit, limited: -1,
	}
	latency := func(a Answer) time.Duration {
		if a == AnswerTimeout && step.Timeout > 0 {
			return step.Timeout
		}
		return p.Latency.Std()
	}
	for _, o := range p.Outages {
		r := w.add(w.sys, o.Answer.err(p.Name, o.RetryAfter.Std()), latency(o.Answer))
		made.outages = append(made.outages, window{o.From.Std(), o.end(), o.Share, r})
	}
	if p.RateLimit != nil {
		made.limited = w.add(w.sys, Answer("http_429").err(p.Name, p.RateLimit.RetryAfter.Std()), p.Latency.Std())
	}
	if e := p.Errors; e.Share > 0 {
		made.errors = window{share: e.Share, reply: w.add(w.sys, e.Answer.err(p.Name, e.RetryAfter.Std()), latency(e.Answer))}
	}
	return made
}

// add notes a way to fail and gives its index.
func (w *world) add(sys System, err error, latency time.Duration) int {
	f := sys.Classify(err)
	w.replies = append(w.replies, reply{failure: f, latency: latency, down: enrich.CountsAsOutage(f)})
	return len(w.replies) - 1
}

// start is the beginning of virtual time.
func start() time.Time { return time.Unix(0, 0).UTC() }
