package dlq

import (
	"context"
	"time"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/dlqindex"
)

// ask asks the index, which it brings up to date first, unless the caller does (see [Options]).
func ask[T any](ctx context.Context, s *Service, question func(*dlqindex.DLQ) (T, error)) (answer T, err error) {
	d, err := s.dlq(ctx)
	if err != nil {
		return answer, err
	}
	return question(d)
}

// Page returns the dead letters of a query after a cursor, without their content (see [dlqindex.DLQ.Page]).
func (s *Service) Page(ctx context.Context, q dlqindex.Query, after *dlqindex.Cursor) (dlqindex.Page, error) {
	return ask(ctx, s, func(d *dlqindex.DLQ) (dlqindex.Page, error) { return d.Page(ctx, q, after) })
}

// Count returns how many dead letters a query selects, regardless of its limit.
func (s *Service) Count(ctx context.Context, q dlqindex.Query) (int, error) {
	return ask(ctx, s, func(d *dlqindex.DLQ) (int, error) { return d.Count(ctx, q) })
}

// ByState counts the selected dead letters by their status (see [dlqindex.DLQ.ByState]).
func (s *Service) ByState(ctx context.Context, q dlqindex.Query) (map[deadletters.Status]int, error) {
	return ask(ctx, s, func(d *dlqindex.DLQ) (map[deadletters.Status]int, error) { return d.ByState(ctx, q) })
}

// Cells counts the selected dead letters by the cells of a grid (see [dlqindex.DLQ.Cells]).
func (s *Service) Cells(ctx context.Context, q dlqindex.Query, columns, rows int) (dlqindex.Cells, error) {
	return ask(ctx, s, func(d *dlqindex.DLQ) (dlqindex.Cells, error) { return d.Cells(ctx, q, columns, rows) })
}

// Trend counts the selected dead letters that died last in each of some equal parts of a time, which begins at from.
func (s *Service) Trend(ctx context.Context, q dlqindex.Query, from time.Time, part time.Duration, parts int) ([]int, error) {
	return ask(ctx, s, func(d *dlqindex.DLQ) ([]int, error) { return d.Trend(ctx, q, from, part, parts) })
}
