package enrich

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// step is what is wanted, and who can answer.
type step struct {
	name        string
	providers   []*provider // in the order in which they are asked; at least one
	set         []assignment
	setProvider string // property that takes the name of who answered; "" for none
	required    bool
}

// assignment writes what a pointer leads to into a property.
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
		made, err := newProvider(c, l, o)
		if err != nil && len(c.Providers) > 0 {
			err = fmt.Errorf("provider %s: %w", l.Name, err)
		}
		faults = append(faults, err)
		s.providers = append(s.providers, made)
	}
	return s, errors.Join(faults...)
}

// prepared is a question to one provider, or why there is none for this feature.
type prepared struct {
	question
	err error
}

// prepare makes the questions for a feature, one for each provider. It fails when there is none for the first: then the
// record is at fault.
func (s *step) prepare(f *transform.Feature, contentHash string) ([]prepared, error) {
	out := make([]prepared, len(s.providers))
	for i, p := range s.providers {
		out[i].question, out[i].err = p.lookup.prepare(f, contentHash)
	}
	return out, out[0].err
}

// held gives the UnavailableError of a step none of whose providers may be asked now, with the earliest time at which one may.
func (s *step) held() error {
	var all []error
	for _, p := range s.providers {
		err := p.held()
		if err == nil || p.cache != nil { // what is kept in memory is given while nothing is sent
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

// ask goes through the providers until one answers. Only the first may condemn the record: what a fallback does not know,
// or does not let us ask, says nothing while the first could not be asked.
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
		if len(s.providers) > 1 && !isHeld(err) {
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
	if _, unmatched := errors.AsType[*unmatchedError](err); unmatched && !s.required {
		return make([]transform.Value, len(s.set)), nil
	}
	if err != nil {
		return nil, err
	}
	values := make([]transform.Value, len(s.set))
	for i, a := range s.set {
		found, ok := a.from.in(answer)
		if !ok && s.required {
			lacks := &fault{classify.CodeMissingRequired, fmt.Sprintf("%s: the answer has no %s, which property %s needs", q.what, a.from, a.property)}
			return nil, classify.WithRequest(p.asked(q.question, 0), lacks)
		}
		values[i] = found // null when the pointer led nowhere
	}
	return values, nil
}

// whole tells whether an answer has what the step needs. One that has not fails its record, so it is asked for again by the
// next one: the service may have been fixed meanwhile.
func (s *step) whole(answer transform.Value) bool {
	return !s.required || !slices.ContainsFunc(s.set, func(a assignment) bool {
		_, ok := a.from.in(answer)
		return !ok
	})
}

// combine makes one error of those of the providers that were asked. That of the first counts. When it was held, the
// record waits until any of them may be asked again.
func (s *step) combine(failures []error) error {
	first := failures[0]
	held, ok := errors.AsType[*retrytopics.UnavailableError](first)
	if !ok {
		for _, other := range failures[1:] {
			first = fmt.Errorf("%w; %v", first, other) //nolint:errorlint // the first alone says what is to be done
		}
		return first
	}
	at, cause := held.RetryAt, held.Err
	for _, other := range failures[1:] {
		if next, ok := errors.AsType[*retrytopics.UnavailableError](other); ok && next.RetryAt.Before(at) {
			at, cause = next.RetryAt, next.Err
		}
	}
	if held.Asked { // what the record failed of, should that count
		cause = classify.WithStage(classify.StageEnrich, fmt.Errorf("enrich step %s: %w", s.name, held.Err))
	}
	return &retrytopics.UnavailableError{Dependency: s.name, RetryAt: at, Err: cause, Asked: held.Asked}
}
