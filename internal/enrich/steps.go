package enrich

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// Steps are the remote steps of a pipeline. They may be used by many goroutines at once.
type Steps struct {
	steps []*step
}

// New makes the steps, in their order. It sends nothing. The error names every step that cannot work, one a line.
func New(configured []config.EnrichStep) (*Steps, error) {
	return newSteps(configured, time.Now)
}

// newSteps takes the clock that a date in Retry-After is counted from.
func newSteps(configured []config.EnrichStep, now func() time.Time) (*Steps, error) {
	s := &Steps{}
	var faults []error
	for i, c := range configured {
		made, err := newStep(c, now)
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
// then hold what earlier steps wrote, but nothing of the step that failed.
func (s *Steps) Apply(ctx context.Context, f *transform.Feature) error {
	for _, step := range s.steps {
		if err := step.apply(ctx, f); err != nil {
			return classify.WithStage(classify.StageEnrich, fmt.Errorf("enrich step %s: %w", step.name, err))
		}
	}
	return nil
}

// Close drops the connections that are idle. Requests under way end by themselves.
func (s *Steps) Close() {
	for _, step := range s.steps {
		step.client.CloseIdleConnections()
	}
}
