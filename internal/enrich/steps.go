package enrich

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"golang.org/x/time/rate"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// Steps are the remote steps of a pipeline. They are safe for concurrent use.
type Steps struct {
	steps []*step
}

// Options are the pipeline's settings besides the steps.
type Options struct {
	// Logger gets a line when a breaker opens and closes. It may be nil.
	Logger *slog.Logger
	// Classify reports which failures are transient; a breaker counts no others.
	Classify func(error) classify.Failure
	// RetryAfterLimit is the longest pause that a service may ask for.
	RetryAfterLimit time.Duration
}

// New returns the steps, in their order. It sends nothing. The error names every step that cannot work, one on each line.
func New(configured []config.EnrichStep, o Options) (*Steps, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Steps{}
	var faults []error
	for i, c := range configured {
		created, err := newStep(c, o)
		if err != nil {
			faults = append(faults, fmt.Errorf("enrich[%d] (%s): %w", i, c.Name, err))
			continue
		}
		s.steps = append(s.steps, created)
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	return s, nil
}

// Apply runs the steps on the feature in their order and ends at the first error. The feature then has the values of
// earlier steps, but none of the failed step. contentHash is the hash of the event. A request that is not a GET contains
// it, so that a service recognizes a repetition.
//
// The error is an *retrytopics.UnavailableError if no provider of a step may be asked, because breakers are open or rate
// limits are used up. No step has then run in vain. A feature that lacks a value of the first step's question fails for
// that reason in any case.
func (s *Steps) Apply(ctx context.Context, f *transform.Feature, contentHash string) error {
	for i, step := range s.steps {
		questions, err := step.prepare(f, contentHash)
		if err == nil && i == 0 {
			err = s.unavailable()
		}
		if err == nil {
			err = step.apply(ctx, f, questions)
		}
		if isDeferral(err) {
			return err
		}
		if err != nil {
			return classify.WithStage(classify.StageEnrich, fmt.Errorf("enrich step %s: %w", step.name, err))
		}
	}
	return nil
}

// unavailable returns the UnavailableError of the first step that has one, so that no earlier step is asked for a record that a
// later one would defer.
func (s *Steps) unavailable() error {
	for _, step := range s.steps {
		if err := step.unavailable(); err != nil {
			return err
		}
	}
	return nil
}

// Close closes idle connections and empties the caches. Requests in flight finish on their own.
func (s *Steps) Close() {
	for _, step := range s.steps {
		for _, p := range step.providers {
			p.close()
		}
	}
}

// step has the providers that can answer, and the properties that get the values.
type step struct {
	name        string
	providers   []*provider // in the order in which they are asked; at least one
	set         []assignment
	setProvider string // property that gets the name of the provider that answered; "" for none
	required    bool
}

// assignment writes the value at a pointer into a property.
type assignment struct {
	property string
	from     pointer
}

func newStep(c config.EnrichStep, o Options) (*step, error) {
	var faults []error
	s := &step{name: c.Name, setProvider: c.SetProvider, required: c.Required}
	for _, property := range slices.Sorted(maps.Keys(c.Set)) { // so that every run writes in the same order
		s.set = append(s.set, assignment{property: property, from: pointer(c.Set[property])})
	}
	for _, l := range c.Lookups() {
		created, err := newProvider(c, l, o)
		if err != nil && len(c.Providers) > 0 {
			err = fmt.Errorf("provider %s: %w", l.Name, err)
		}
		faults = append(faults, err)
		s.providers = append(s.providers, created)
	}
	return s, errors.Join(faults...)
}

// prepared is a question to one provider, or the reason why this feature has none.
type prepared struct {
	question
	err error
}

// prepare returns the questions about a feature, one for each provider. It fails if the first provider has none: the
// record is then the cause.
func (s *step) prepare(f *transform.Feature, contentHash string) ([]prepared, error) {
	out := make([]prepared, len(s.providers))
	for i, p := range s.providers {
		out[i].question, out[i].err = p.lookup.prepare(f, contentHash)
	}
	return out, out[0].err
}

// unavailable returns an UnavailableError if no provider may be asked now, with the earliest time at which one may be.
func (s *step) unavailable() error {
	var all []error
	for _, p := range s.providers {
		err := p.unavailable()
		if err == nil || p.cache != nil { // cached answers are returned while nothing is sent
			return nil
		}
		all = append(all, err)
	}
	return s.combine(all)
}

// apply asks the providers and writes all values, or none.
func (s *step) apply(ctx context.Context, f *transform.Feature, questions []prepared) error {
	values, by, err := s.ask(ctx, questions)
	if err != nil {
		return err
	}
	for i, a := range s.set {
		f.SetProperty(a.property, values[i])
	}
	if s.setProvider != "" {
		f.SetProperty(s.setProvider, transform.StringValue(by.name))
	}
	return nil
}

// ask asks the providers in order until one answers. Only the first provider's answer can make the record fail: a
// fallback without the feature proves nothing while the first provider could not be asked.
func (s *step) ask(ctx context.Context, questions []prepared) ([]transform.Value, *provider, error) {
	var failures []error
	for i, p := range s.providers {
		values, err := s.askOne(ctx, p, questions[i])
		if err == nil {
			if i > 0 {
				p.tally.fellBack()
			}
			return values, p, nil
		}
		if len(s.providers) > 1 && !isDeferral(err) {
			err = fmt.Errorf("provider %s: %w", p.name, err)
		}
		failures = append(failures, err)
		if ctx.Err() != nil || i == 0 && !p.transient(err) {
			break
		}
	}
	return nil, nil, s.combine(failures)
}

func (s *step) askOne(ctx context.Context, p *provider, q prepared) ([]transform.Value, error) {
	if q.err != nil {
		return nil, q.err
	}
	answer, err := p.ask(ctx, q.question, s.whole)
	if errors.Is(err, errUnmatched) && !s.required {
		return make([]transform.Value, len(s.set)), nil
	}
	if err != nil {
		return nil, err
	}
	values := make([]transform.Value, len(s.set))
	for i, a := range s.set {
		found, ok := a.from.in(answer)
		if !ok && s.required {
			lacks := failed(classify.CodeMissingRequired, "%s: the answer has no %s, which property %s needs", q.what, a.from, a.property)
			return nil, classify.WithRequest(p.failedRequest(q.question, 0), lacks)
		}
		values[i] = found // null if there is no value at the pointer
	}
	return values, nil
}

// whole reports whether an answer has every value that the step needs. Other answers are not cached: their records fail, and the
// service may be fixed by the next question.
func (s *step) whole(answer transform.Value) bool {
	return !s.required || !slices.ContainsFunc(s.set, func(a assignment) bool {
		_, ok := a.from.in(answer)
		return !ok
	})
}

// combine returns one error for the failures of the providers. The first provider's error decides. If that provider could
// not be asked, the record waits until any provider may be asked again.
func (s *step) combine(failures []error) error {
	first := failures[0]
	deferred, ok := errors.AsType[*retrytopics.UnavailableError](first)
	if !ok {
		for _, other := range failures[1:] {
			first = fmt.Errorf("%w; %v", first, other) //nolint:errorlint // the first alone says what to do
		}
		return first
	}
	at, cause := deferred.RetryAt, deferred.Err
	for _, other := range failures[1:] {
		if next, ok := errors.AsType[*retrytopics.UnavailableError](other); ok && next.RetryAt.Before(at) {
			at, cause = next.RetryAt, next.Err
		}
	}
	if deferred.Asked { // the failure of the record, in case it counts
		cause = classify.WithStage(classify.StageEnrich, fmt.Errorf("enrich step %s: %w", s.name, deferred.Err))
	}
	return &retrytopics.UnavailableError{Dependency: s.name, RetryAt: at, Err: cause, Asked: deferred.Asked}
}

// Retune applies the rates and breaker rules of another configuration of the same steps while they work. Steps and
// providers are matched by their position. A provider that has no rate or breaker in one of the configurations stays
// unchanged.
func (s *Steps) Retune(configured []config.EnrichStep) {
	for i := range min(len(configured), len(s.steps)) {
		lookups := configured[i].Lookups()
		for j := range min(len(lookups), len(s.steps[i].providers)) {
			s.steps[i].providers[j].retune(lookups[j].Bounds())
		}
	}
}

func (p *provider) retune(now config.Bounds) {
	if p.limiter != nil && now.Rate != nil {
		p.limiter.SetLimit(rate.Limit(now.Rate.PerSecond))
		p.limiter.SetBurst(now.Rate.Burst)
	}
	if p.breaker != nil && now.Breaker != nil {
		p.breaker.Retune(*now.Breaker)
	}
}
