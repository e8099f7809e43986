package enrich

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// step is one service and what is wanted from it.
type step struct {
	name     string
	url      template
	timeout  time.Duration
	limit    int64 // largest answer, in bytes
	set      []assignment
	required bool
	client   *http.Client
	turns    chan struct{} // holds one for each request that is under way
	breaker  *breaker      // nil when none is configured
	now      func() time.Time
	classify func(error) classify.Failure
}

// assignment writes what a pointer leads to into a property.
type assignment struct {
	property string
	from     pointer
}

func newStep(c config.EnrichStep, o Options) (*step, error) {
	template, urlErr := parseTemplate(c.HTTP.URL)
	set, setErr := assignments(c.Set)
	if err := errors.Join(urlErr, setErr, limits(c.HTTP)); err != nil {
		return nil, err
	}
	return &step{
		name:     c.Name,
		url:      template,
		timeout:  c.HTTP.Timeout.Std(),
		limit:    int64(c.HTTP.MaxResponseBytes),
		set:      set,
		required: c.Required,
		client:   newClient(c.HTTP.MaxConnections),
		turns:    make(chan struct{}, c.HTTP.MaxConnections),
		breaker:  newBreaker(c.Name, c.HTTP.Breaker, o.Logger),
		now:      o.Now,
		classify: o.Classify,
	}, nil
}

func limits(h config.HTTPStep) error {
	var faults []error
	if h.Timeout <= 0 {
		faults = append(faults, fmt.Errorf("http.timeout is %s, want more than 0", h.Timeout))
	}
	if h.MaxConnections < 1 {
		faults = append(faults, fmt.Errorf("http.max_connections is %d, want at least 1", h.MaxConnections))
	}
	if h.MaxResponseBytes < 1 {
		faults = append(faults, fmt.Errorf("http.max_response_bytes is %d, want at least 1", h.MaxResponseBytes))
	}
	if b := h.Breaker; b != nil && (b.Failures < 1 || b.Successes < 1 || b.Window <= 0 || b.Cooldown <= 0) {
		faults = append(faults, fmt.Errorf("http.breaker has %d failures, window %s, cooldown %s, %d successes; want each more than 0", b.Failures, b.Window, b.Cooldown, b.Successes))
	}
	return errors.Join(faults...)
}

// assignments sorts by property, so that every run writes in the same order.
func assignments(set map[string]string) ([]assignment, error) {
	if len(set) == 0 {
		return nil, errors.New("set is empty: say which property takes which value of the answer")
	}
	var out []assignment
	var faults []error
	for _, property := range slices.Sorted(maps.Keys(set)) {
		from, err := parsePointer(set[property])
		if err != nil {
			faults = append(faults, fmt.Errorf("set.%s: %w", property, err))
		}
		out = append(out, assignment{property: property, from: from})
	}
	return out, errors.Join(faults...)
}

// apply asks the service and writes all values, or none.
func (s *step) apply(ctx context.Context, f *transform.Feature, target *url.URL) error {
	answer, err := s.ask(ctx, target)
	if err != nil {
		return err
	}
	values := make([]transform.Value, len(s.set))
	for i, a := range s.set {
		found, ok := a.from.in(answer)
		if !ok && s.required {
			return &fault{classify.CodeMissingRequired, fmt.Sprintf("GET %s: the answer has no %s, which property %s needs", classify.PublicURL(target), a.from, a.property)}
		}
		values[i] = found // null when the pointer led nowhere
	}
	for i, a := range s.set {
		f.SetProperty(a.property, values[i])
	}
	return nil
}
