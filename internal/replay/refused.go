package replay

import (
	"context"
	"errors"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// Refused is one value that today's transform refuses.
type Refused struct {
	Code  classify.Code
	Path  string // JSON pointer into the feature (RFC 6901)
	Value string // as the record has it, cut to 80 characters
}

// Refused gives the value for which today's transform refuses a letter that comes with its content. known is false when it passes, or
// is refused for something that is no single value, as a geometry is.
func (s *Service) Refused(ctx context.Context, letter deadletters.Letter) (r Refused, known bool) {
	if letter.Content == nil {
		return r, false
	}
	_, err := try(ctx, s.mapping, s.asRecord(ctx, &letter, letter.Content.Value))
	fault, ok := errors.AsType[*transform.Error](err)
	if !ok || fault.Value == "" {
		return r, false
	}
	return Refused{fault.Code, fault.Path, fault.Value}, true
}
