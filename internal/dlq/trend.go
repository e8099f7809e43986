package dlq

import (
	"context"
	"time"

	"github.com/switchback-geo/switchback/internal/dlqindex"
)

// Trend counts the letters of a query that died last in each of some parts of a time, which are equally long and begin at from.
func (s *Service) Trend(ctx context.Context, q dlqindex.Query, from time.Time, part time.Duration, parts int) ([]int, error) {
	d, err := s.dlq(ctx)
	if err != nil {
		return nil, err
	}
	return d.Trend(ctx, q, from, part, parts)
}
