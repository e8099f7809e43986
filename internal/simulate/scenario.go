package simulate

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"github.com/switchback-geo/switchback/internal/config"
)

// Scenario describes a load, the behaviour of the providers, and the expected outcome. All times are counted from the
// start of the simulation.
type Scenario struct {
	// Rate is how many records a second the source gets. Defaults to 100.
	Rate float64 `jsonschema:"exclusiveMinimum=0,maximum=1000000000,default=100" yaml:"rate"`
	// Duration is how long the source receives records; records that wait then are drained. Defaults to 1h.
	Duration config.Duration `jsonschema:"default=1h" least:"1s" most:"8760h" yaml:"duration"`
	// Seed makes the run repeatable: the same seed has the same outcome. Defaults to 1.
	Seed int64 `jsonschema:"minimum=0,default=1" yaml:"seed"`
	// Instances is how many consumers share the work. Defaults to 1.
	Instances int `jsonschema:"minimum=1,maximum=10000,default=1" yaml:"instances"`
	// BadRecords is the share of records that fail for a reason of their own, before any request. Defaults to 0.
	BadRecords float64 `jsonschema:"minimum=0,maximum=1" yaml:"bad_records"`
	// Keys is the number of distinct keys of the records, all equally likely: records of one key wait for each other
	// according to ordering.mode. Defaults to 0: every record has its own key.
	Keys int `jsonschema:"minimum=0,maximum=10000000" yaml:"keys"`
	// ResumeAfter is the time after which an operator resumes a pipeline that a gate has paused. Defaults to 0s: it is
	// never resumed.
	ResumeAfter config.Duration `least:"0s" most:"8760h" yaml:"resume_after"`
	// Providers describe the services that an attempt needs. A step of the pipeline that is not listed always answers at
	// once.
	Providers []Provider `jsonschema:"maxItems=100" yaml:"providers"`
	// Expect lists the conditions at the end; `consumer simulate --expect` fails if one is not met.
	Expect Expect `yaml:"expect"`
}

// Handler is the name of the provider for everything that an attempt needs besides the remote steps, such as a sink. It
// has neither circuit breaker nor connection limit.
const Handler = "handler"

// Provider is a service and how it behaves.
type Provider struct {
	// Name is the name of a remote step of the pipeline (enrich[].name), step/provider if the step has several
	// providers, or handler for everything else that an attempt needs. Mandatory.
	Name string `jsonschema:"required,minLength=1" yaml:"name"`
	// Latency is how long an answer takes. Defaults to 20ms.
	Latency config.Duration `jsonschema:"default=20ms" least:"0s" most:"1h" yaml:"latency"`
	// CacheHits is the share of the questions that are answered from memory, from 0 to 1, for a provider with a cache.
	// An answer that is not cached at a record's first attempt is not cached later. Defaults to 0.
	CacheHits float64 `jsonschema:"minimum=0,maximum=1" yaml:"cache_hits"`
	// Errors sets the share of the requests that fail at any time.
	Errors Errors `yaml:"errors"`
	// Outages list the times at which it is down.
	Outages []Outage `jsonschema:"maxItems=100" yaml:"outages"`
	// RateLimit is the provider's own limit: it answers further requests with 429.
	RateLimit *RateLimit `yaml:"rate_limit,omitempty"`
}

// Errors is a share of requests that fails.
type Errors struct {
	// Share is the share that fails, from 0 to 1. Defaults to 0.
	Share float64 `jsonschema:"minimum=0,maximum=1" yaml:"share"`
	// Answer is the answer to these requests: an HTTP status as http_503, or timeout, refused, reset. Defaults to
	// http_503.
	Answer Answer `jsonschema:"default=http_503" yaml:"answer"`
	// RetryAfter is the Retry-After header of the answer; 0s omits the header. Defaults to 0s.
	RetryAfter config.Duration `least:"0s" most:"168h" yaml:"retry_after"`
}

// Outage is a time at which a provider is down.
type Outage struct {
	// From is when it begins. Mandatory.
	From config.Duration `jsonschema:"required" least:"0s" most:"8760h" yaml:"from"`
	// For is how long it lasts. Mandatory.
	For config.Duration `jsonschema:"required" least:"1ms" most:"8760h" yaml:"for"`
	// Share is the share of requests that it hits, from 0 to 1. Defaults to 1.
	Share float64 `jsonschema:"minimum=0,maximum=1,default=1" yaml:"share"`
	// Answer is the answer to these requests: an HTTP status as http_503, or timeout, refused, reset. Defaults to
	// http_503.
	Answer Answer `jsonschema:"default=http_503" yaml:"answer"`
	// RetryAfter is the Retry-After header of the answer; 0s omits the header. Defaults to 0s.
	RetryAfter config.Duration `least:"0s" most:"168h" yaml:"retry_after"`
}

// RateLimit is a token bucket at the provider.
type RateLimit struct {
	// PerSecond is how many requests a second it lets through. Mandatory.
	PerSecond float64 `jsonschema:"required,exclusiveMinimum=0" yaml:"per_second"`
	// Burst is the number of requests that are accepted at once after a pause. Defaults to the requests of one
	// second.
	Burst int `jsonschema:"minimum=0,maximum=1000000" yaml:"burst"`
	// RetryAfter is the Retry-After header of its 429; 0s omits the header. Defaults to 1s.
	RetryAfter config.Duration `jsonschema:"default=1s" least:"0s" most:"168h" yaml:"retry_after"`
}

// limiter returns the limit as a token bucket; nil accepts every request.
func (l *RateLimit) limiter() *rate.Limiter {
	if l == nil {
		return rate.NewLimiter(rate.Inf, 0)
	}
	return rate.NewLimiter(rate.Limit(l.PerSecond), cmp.Or(l.Burst, int(math.Ceil(l.PerSecond))))
}

// ParseScenario reads a scenario for a system. The error is a *config.Faults that lists all faults with name, line and
// column.
func ParseScenario(name string, text []byte, sys System) (Scenario, error) {
	var s Scenario
	err := config.Decode(name, text, &s, func(fault func(path, message, fix string)) { s.check(sys, fault) })
	return s, err
}

// check reports what is wrong beyond the form of one value.
func (s Scenario) check(sys System, fault func(path, message, fix string)) {
	for i, p := range s.Providers {
		path := fmt.Sprintf("providers[%d].", i)
		s.checkName(sys, i, func(message, fix string) { fault(path+"name", message, fix) })
		cached := slices.ContainsFunc(sys.services(), func(v Service) bool { return v.Name == p.Name && v.Cached })
		if p.CacheHits > 0 && !cached {
			fault(path+"cache_hits", fmt.Sprintf("%s has no cache in the pipeline", p.Name), "give it a cache there, or remove the key")
		}
		if problem := p.Errors.Answer.problem(); problem != "" {
			fault(path+"errors.answer", problem, answerFix)
		}
		for j, o := range p.Outages {
			at := fmt.Sprintf("%soutages[%d].", path, j)
			if problem := o.Answer.problem(); problem != "" {
				fault(at+"answer", problem, answerFix)
			}
			if o.From.Std() >= s.Duration.Std() {
				fault(at+"from", fmt.Sprintf("%s is not before the end of the scenario, %s", o.From, s.Duration), "begin it earlier, or raise duration")
			}
		}
	}
}

// checkName reports a provider that the pipeline does not have, or that is listed twice.
func (s Scenario) checkName(sys System, i int, fault func(message, fix string)) {
	name := s.Providers[i].Name
	known := append(sys.serviceNames(), Handler)
	several := slices.IndexFunc(sys.Steps, func(step Step) bool { return step.Name == name && len(step.Services) > 1 })
	switch {
	case several >= 0:
		fault(fmt.Sprintf("step %s has several providers", name), "write one of them, such as "+sys.Steps[several].Services[0].Name)
	case !slices.Contains(known, name):
		fault(fmt.Sprintf("%q is not a remote step of the pipeline", name), "write one of "+strings.Join(known, ", "))
	}
	if first := slices.IndexFunc(s.Providers, func(o Provider) bool { return o.Name == name }); first < i {
		fault(fmt.Sprintf("%q is listed twice, first as entry %d", name, first+1), "merge them into one entry")
	}
}

// end returns when an outage is over.
func (o Outage) end() time.Duration { return o.From.Std() + o.For.Std() }

// Default returns the scenario for a call without one: every provider fails once in a hundred requests, and the first one
// of each remote step is down for ten minutes (or a tenth of a shorter run) after a quarter of the time. In a pipeline
// without remote steps, the handler fails in this way.
func Default(sys System, rate float64, duration time.Duration) Scenario {
	s := Scenario{Rate: rate, Duration: config.Duration(duration), Seed: 1, Instances: 1}
	steps := sys.Steps
	if len(steps) == 0 {
		steps = []Step{{Name: Handler, Services: []Service{{Name: Handler}}}}
	}
	for _, step := range steps {
		for i, service := range step.Services {
			p := Provider{Name: service.Name, Latency: config.Duration(20 * time.Millisecond), Errors: Errors{Share: 0.01, Answer: "http_503"}}
			if i == 0 {
				p.Outages = []Outage{{
					From: config.Duration((duration / 4).Truncate(time.Millisecond)), Share: 1, Answer: "http_503",
					For: config.Duration(max(min(10*time.Minute, duration/10).Truncate(time.Millisecond), time.Millisecond)),
				}}
			}
			s.Providers = append(s.Providers, p)
		}
	}
	return s
}
