package dlq

import (
	"context"
	"time"

	"github.com/switchback-geo/switchback/internal/dlqindex"
)

// Trend counts the selected dead letters that died last in each of some equal parts of a time, which begins at from.
func (s *Service) Trend(ctx context.Context, q dlqindex.Query, from time.Time, part time.Duration, parts int) ([]int, error) {
	d, err := s.dlq(ctx)
	if err != nil {
		return nil, err
	}
	return d.Trend(ctx, q, from, part, parts)
}
