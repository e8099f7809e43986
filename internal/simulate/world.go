package simulate

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/switchback-geo/switchback/internal/breaker"
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/gates"
	"github.com/switchback-geo/switchback/internal/keyorder"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// reply is one way in which an attempt can fail.
type reply struct {
	failure classify.Failure
	latency time.Duration
	end     breaker.Outcome // its meaning for a circuit breaker
	passes  bool            // the next provider may succeed
	pause   time.Duration   // that the service requests of all clients; 0 for none
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

// provider prepares a service. A service that the scenario does not list always answers at once.
func (w *world) provider(step int, service Service) provider {
	built := provider{Service: service, step: step, limited: none}
	i := slices.IndexFunc(w.Providers, func(p Provider) bool { return p.Name == service.Name })
	if i < 0 {
		return built
	}
	p := w.Providers[i]
	built.latency, built.hits, built.limit = p.Latency.Std(), p.CacheHits, p.RateLimit
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
		built.outages = append(built.outages, window{o.From.Std(), o.end(), o.Share, add(o.Answer, o.RetryAfter.Std(), latency(o.Answer))})
	}
	if p.RateLimit != nil {
		built.limited = add("http_429", p.RateLimit.RetryAfter.Std(), p.Latency.Std())
	}
	if e := p.Errors; e.Share > 0 {
		built.errors = window{share: e.Share, reply: add(e.Answer, e.RetryAfter.Std(), latency(e.Answer))}
	}
	return built
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

// notModelled returns the settings of a pipeline that are not modelled.
func (w *world) notModelled() []string {
	if w.sys.Ordering.Mode == keyorder.Strict && !w.keyed() {
		return []string{"ordering strict: the scenario has no keys, so no record waits behind another one of its key; set their number (keys)"}
	}
	return []string{}
}

// none is no provider, no reply, no step.
const none = -1

// start is the beginning of virtual time.
func start() time.Time { return time.Unix(0, 0).UTC() }

// System is the simulated system: the rules of a pipeline, which are the engine's own, and the limits of its remote
// steps.
type System struct {
	Pipeline    string
	Tiers       []policy.Tier
	Concurrency int // concurrent attempts in one instance
	Steps       []Step
	Ordering    keyorder.Rules

	// Decide is the engine's decision after a failed attempt.
	Decide func(tried policy.Tried, f classify.Failure, now time.Time, uniform func() float64) policy.Decision
	// Wake returns when a record that was put into a tier surfaces.
	Wake func(tier int, due, taken time.Time) time.Time
	// Classify is the pipeline's classifier.
	Classify func(error) classify.Failure
	// RetryAfterLimit is the longest pause that a provider may ask for.
	RetryAfterLimit time.Duration
	// Tolerance has the limits of the gates, and Holds reports which failures pause the pipeline on their own, given the
	// reason of Decide.
	Tolerance gates.Limits
	Holds     func(classify.Failure, policy.Reason) bool
}

// Step is one remote step: its providers, in the order in which they are called.
type Step struct {
	Name     string
	Services []Service
}

// Service is one provider of a step with its configuration.
type Service struct {
	Name        string // the step's, or step/provider if it has several
	Timeout     time.Duration
	Connections int             // concurrent requests in one instance
	Rate        *config.Rate    // of one instance; nil if it has none
	Cached      bool            // whether answers are cached
	Breaker     *config.Breaker // nil if it has none
	Pauses      bool            // whether a Retry-After delays every further request
}

// NewSystem takes the rules from the configuration of a pipeline and of its engine.
func NewSystem(cfg *config.Config, engine retrytopics.Config) System {
	policies := policy.Policies{Default: engine.Retries.Policy, ByCategory: engine.Retries.ByCategory}
	tolerated := cfg.Pipeline.Tolerance
	s := System{
		Pipeline: cfg.Pipeline.ID, Tiers: engine.Retries.Tiers, Concurrency: cfg.Engine.Concurrency, Classify: engine.Retries.Classify,
		Decide: func(tried policy.Tried, f classify.Failure, now time.Time, uniform func() float64) policy.Decision {
			return policy.Decide(policies, engine.Retries.Tiers, tried, f, now, uniform)
		},
		Wake: func(tier int, due, taken time.Time) time.Time {
			return policy.Wake(policies, engine.Retries.Tiers[tier], due, taken)
		},
		RetryAfterLimit: cfg.Pipeline.RetryPolicy.RetryAfterLimit.Std(),
		Ordering:        keyorder.Rules{Mode: keyorder.Mode(cfg.Ordering.Mode), HoldKey: cfg.Ordering.OnDeadLetter == config.OnDeadLetterHoldKey},
		Tolerance: gates.Limits{
			MaxNullRate: 1, MaxTransientRate: tolerated.MaxTransientRate, MaxDeadLetterRate: tolerated.MaxDeadLetterRate,
			Window: tolerated.Window.Std(), MinRecords: tolerated.MinRecords,
		},
		Holds: tolerated.Pauses,
	}
	for _, step := range cfg.Enrich {
		s.Steps = append(s.Steps, newStep(step))
	}
	return s
}

func newStep(step config.EnrichStep) Step {
	built := Step{Name: step.Name}
	lookups := step.Lookups()
	for _, p := range lookups {
		service := Service{Name: step.Name}
		if len(lookups) > 1 {
			service.Name = step.Name + "/" + p.Name
		}
		b := p.Bounds()
		service.Timeout, service.Connections, service.Rate, service.Cached, service.Breaker = b.Timeout.Std(), b.MaxConnections, b.Rate, b.Cache != nil, b.Breaker
		service.Pauses = p.HTTP != nil && p.HTTP.RetryAfter == config.RetryAfterService
		built.Services = append(built.Services, service)
	}
	return built
}

// services lists the providers, in order.
func (s System) services() []Service {
	var out []Service
	for _, step := range s.Steps {
		out = append(out, step.Services...)
	}
	return out
}

// serviceNames lists the names that a scenario may use, except the handler.
func (s System) serviceNames() []string {
	var names []string
	for _, service := range s.services() {
		names = append(names, service.Name)
	}
	return names
}

// Answer is the answer to a failing request: "http_" and a status from 400 to 599, or one of Breaks.
type Answer string

// The ways in which a request ends without an answer.
const (
	AnswerTimeout Answer = "timeout" // nothing within the step's time limit
	AnswerRefused Answer = "refused" // the connection is refused
	AnswerReset   Answer = "reset"   // the connection breaks in the middle
)

// Breaks lists the ways in which a request ends without an answer.
func Breaks() []Answer { return []Answer{AnswerTimeout, AnswerRefused, AnswerReset} }

const answerFix = "write http_ and a status from 400 to 599, such as http_503, or timeout, refused or reset"

// status returns the HTTP status, or 0.
func (a Answer) status() int {
	digits, ok := strings.CutPrefix(string(a), "http_")
	if n, err := strconv.Atoi(digits); ok && err == nil && 400 <= n && n <= 599 {
		return n
	}
	return 0
}

// problem returns why an answer is invalid, or "".
func (a Answer) problem() string {
	if slices.Contains(Breaks(), a) || a.status() > 0 {
		return ""
	}
	return fmt.Sprintf("unknown answer %q", string(a))
}

// err returns the error of a remote step for this answer, for the classifier.
func (a Answer) err(provider string, retryAfter time.Duration) error {
	var err error
	switch a {
	case AnswerTimeout:
		err = &net.OpError{Op: "GET " + provider, Err: context.DeadlineExceeded}
	case AnswerRefused:
		err = &net.OpError{Op: "GET " + provider, Err: syscall.ECONNREFUSED}
	case AnswerReset:
		err = &net.OpError{Op: "GET " + provider, Err: io.ErrUnexpectedEOF}
	default:
		err = &classify.HTTPError{Status: a.status(), RetryAfter: retryAfter, Method: http.MethodGet, URL: provider}
	}
	return classify.WithStage(classify.StageEnrich, fmt.Errorf("enrich step %s: %w", provider, err))
}
