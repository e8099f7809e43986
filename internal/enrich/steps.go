package enrich

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// Steps are the remote steps of a pipeline. They may be used by many goroutines at once.
type Steps struct {
	steps []*step
}

// Options are what the steps take from the pipeline around them.
type Options struct {
	// Logger hears when a breaker opens and closes. Defaults to none.
	Logger *slog.Logger
	// Classify says which failures are transient; a breaker counts no others. Defaults to classify.Of.
	Classify func(error) classify.Failure
	// Now is the clock that a date in Retry-After is counted from. Defaults to time.Now.
	Now func() time.Time
	// RetryAfterLimit is the longest pause that a service may ask for. Defaults to an hour.
	RetryAfterLimit time.Duration
}

// New makes the steps, in their order. It sends nothing. The error names every step that cannot work, one a line.
func New(configured []config.EnrichStep, o Options) (*Steps, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Classify == nil {
		o.Classify = classify.Of
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.RetryAfterLimit <= 0 {
		o.RetryAfterLimit = time.Hour
	}
	s := &Steps{}
	var faults []error
	for i, c := range configured {
		made, err := newStep(c, o)
		if err != nil {
			faults = append(faults, fmt.Errorf("enrich[%d] (%s): %w", i, c.Name, err))
			continue
		}
		s.steps = append(s.steps, made)
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	return s, nil
}

// Apply runs every step on the feature, each on what the one before it left. The first error ends it. The feature may
// then hold what earlier steps wrote, but nothing of the step that failed. contentHash is that of the event; a request
// that is not a GET carries it, so that a service knows a repetition.
//
// The error is an *retrytopics.UnavailableError, and no step was tried in vain, when nobody may be asked for any step: breakers
// are open, or rate limits used up. A feature that the first step cannot ask for at all fails for that reason, held or not.
func (s *Steps) Apply(ctx context.Context, f *transform.Feature, contentHash string) error {
	for i, step := range s.steps {
		questions, err := step.prepare(f, contentHash)
		if err == nil && i == 0 {
			err = s.held()
		}
		if err == nil {
			err = step.apply(ctx, f, questions)
		}
		if isHeld(err) {
			return err
		}
		if err != nil {
			return classify.WithStage(classify.StageEnrich, fmt.Errorf("enrich step %s: %w", step.name, err))
		}
	}
	return nil
}

// held gives the UnavailableError of the first step that has one, so that no earlier step is asked for a record that a later
// one would hold.
func (s *Steps) held() error {
	for _, step := range s.steps {
		if err := step.held(); err != nil {
			return err
		}
	}
	return nil
}

// Close drops the connections that are idle, and what is kept. Requests under way end by themselves.
func (s *Steps) Close() {
	for _, step := range s.steps {
		for _, p := range step.providers {
			p.close()
		}
	}
}
