package simulate

import (
	"slices"
	"time"

	"github.com/switchback-geo/switchback/internal/breaker"
	"github.com/switchback-geo/switchback/internal/keyorder"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// reply is one way in which an attempt can fail.
type reply struct {
	failure classify.Failure
	latency time.Duration
	end     breaker.Outcome // its meaning for a circuit breaker
	passes  bool            // the next provider may succeed
	pause   time.Duration   // that the service asks of everybody; 0 for none
}

// window is a time in which a share of the requests gets a reply.
type window struct {
	from, to time.Duration
	share    float64
	reply    int // index into replies
}

func (w window) at(t time.Duration) bool { return w.from <= t && t < w.to }

// provider is a service with all its failures.
type provider struct {
	Service
	step    int // whose provider it is
	latency time.Duration
	hits    float64 // share of the questions that are answered from the cache
	// In the order in which they are checked; the first match counts.
	outages []window
	limit   *RateLimit
	limited int // index of the reply of the rate limit
	errors  window
}

// world is a prepared scenario: the steps in the order of an attempt, their providers, and all replies.
type world struct {
	Scenario
	sys       System
	steps     [][]int // by step, the indexes of its providers in order; the handler is the last one
	providers []provider
	replies   []reply
	bad       int // index of the reply of a bad record
}

func newWorld(sys System, s Scenario) *world {
	w := &world{Scenario: s, sys: sys}
	w.bad = w.add(sys, &transform.Error{Code: classify.CodeMissingRequired, Stage: classify.StageTransform, Message: "a bad record"}, 0)
	steps := slices.Clone(sys.Steps)
	if slices.ContainsFunc(s.Providers, func(p Provider) bool { return p.Name == Handler }) {
		steps = append(steps, Step{Name: Handler, Services: []Service{{Name: Handler}}})
	}
	for i, step := range steps {
		var indexes []int
		for _, service := range step.Services {
			indexes = append(indexes, len(w.providers))
			w.providers = append(w.providers, w.provider(i, service))
		}
		w.steps = append(w.steps, indexes)
	}
	return w
}

// provider prepares a service. One that the scenario does not name always answers at once.
func (w *world) provider(step int, service Service) provider {
	made := provider{Service: service, step: step, limited: none}
	i := slices.IndexFunc(w.Providers, func(p Provider) bool { return p.Name == service.Name })
	if i < 0 {
		return made
	}
	p := w.Providers[i]
	made.latency, made.hits, made.limit = p.Latency.Std(), p.CacheHits, p.RateLimit
	latency := func(a Answer) time.Duration {
		if a == AnswerTimeout && service.Timeout > 0 {
			return service.Timeout
		}
		return p.Latency.Std()
	}
	add := func(a Answer, retryAfter, latency time.Duration) int {
		r := w.add(w.sys, a.err(p.Name, retryAfter), latency)
		if status := a.status(); service.Pauses && (status == 429 || status == 503) {
			w.replies[r].pause = min(retryAfter, w.sys.RetryAfterLimit)
		}
		return r
	}
	for _, o := range p.Outages {
		made.outages = append(made.outages, window{o.From.Std(), o.end(), o.Share, add(o.Answer, o.RetryAfter.Std(), latency(o.Answer))})
	}
	if p.RateLimit != nil {
		made.limited = add("http_429", p.RateLimit.RetryAfter.Std(), p.Latency.Std())
	}
	if e := p.Errors; e.Share > 0 {
		made.errors = window{share: e.Share, reply: add(e.Answer, e.RetryAfter.Std(), latency(e.Answer))}
	}
	return made
}

// add adds a failure and returns its index.
func (w *world) add(sys System, err error, latency time.Duration) int {
	f := sys.Classify(err)
	w.replies = append(w.replies, reply{failure: f, latency: latency, end: breaker.JudgeFailure(f), passes: f.Transient()})
	return len(w.replies) - 1
}

// cached reports whether a step can be answered while nothing is sent.
func (w *world) cached(step int) bool {
	return slices.ContainsFunc(w.steps[step], func(p int) bool { return w.providers[p].Cached })
}

// keyed reports whether records share keys.
func (w *world) keyed() bool { return w.Keys > 0 }

// notModelled returns what is not shown of a pipeline.
func (w *world) notModelled() []string {
	if w.sys.Ordering.Mode == keyorder.Strict && !w.keyed() {
		return []string{"ordering strict: the scenario has no keys, so no record waits behind another one of its key; write how many there are (keys)"}
	}
	return []string{}
}

// none is no provider, no reply, no step.
const none = -1

// start is the beginning of virtual time.
func start() time.Time { return time.Unix(0, 0).UTC() }
