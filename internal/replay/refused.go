package replay

import (
	"context"
	"errors"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// Refused is what today's transform refuses of a feature.
type Refused struct {
	Code  classify.Code `json:"code"`
	Path  string        `json:"path"`            // JSON pointer into the feature (RFC 6901)
	Value string        `json:"value,omitzero"`  // as the record has it, cut to 80 characters; empty for what is no single value
	Place *[2]float64   `json:"place,omitempty"` // of a geometry that breaks a rule: where, in the coordinates of the source
}

// Refused gives what today's transform refuses of a letter that comes with its content. known is false when it passes, or is refused for
// something that has no place in the feature.
func (s *Service) Refused(ctx context.Context, letter deadletters.Letter) (r Refused, known bool) {
	if letter.Content == nil {
		return r, false
	}
	_, err := try(ctx, s.mapping, s.asRecord(ctx, &letter, letter.Content.Value))
	fault, ok := errors.AsType[*transform.Error](err)
	if !ok {
		return r, false
	}
	r = Refused{Code: fault.Code, Path: fault.Path, Value: fault.Value}
	if broken, ok := errors.AsType[*transform.Violation](err); ok && broken.HasLocation {
		r.Place = &[2]float64{broken.X, broken.Y}
	}
	return r, r.Value != "" || r.Place != nil
}
