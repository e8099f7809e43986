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

// Refused gives what today's transform refuses of a letter that comes with its content. It is nil when the letter passes, or is refused
// for something that has no place in the feature.
func (s *Service) Refused(ctx context.Context, letter deadletters.Letter) *Refused {
	if letter.Content == nil {
		return nil
	}
	_, err := try(ctx, s.mapping, s.asRecord(ctx, &letter, letter.Content.Value))
	return refusedBy(err)
}

// refusedBy reads the error of a transform.
func refusedBy(err error) *Refused {
	fault, ok := errors.AsType[*transform.Error](err)
	if !ok {
		return nil
	}
	r := &Refused{Code: fault.Code, Path: fault.Path, Value: fault.Value}
	if broken, ok := errors.AsType[*transform.Violation](err); ok && broken.HasLocation {
		r.Place = &[2]float64{broken.X, broken.Y}
	}
	if r.Value == "" && r.Place == nil {
		return nil
	}
	return r
}
