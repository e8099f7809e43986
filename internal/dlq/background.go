package dlq

import (
	"context"
	"errors"

	"github.com/switchback-geo/switchback/internal/dlqindex"
	"github.com/switchback-geo/switchback/internal/kafka"
)

// Refresh brings the index of a background service up to date (see [Options]). The error is a *[kafka.UnreachableError]
// if no broker answers. Until the next Refresh succeeds, retention and traffic are unknown, because questions ask no
// broker.
func (s *Service) Refresh(ctx context.Context) (dlqindex.Synced, error) {
	var done dlqindex.Synced
	err := s.Reachable(ctx)
	if err == nil {
		done, err = s.index.Sync(ctx)
	}
	s.away.Store(err != nil)
	return done, err
}

// Reachable returns in one line why no broker answers, or nil.
func (s *Service) Reachable(ctx context.Context) error { return s.letters.Reachable(ctx) }

// PipelineEnds returns, for the status topic and the audit topic of the pipeline (or of the DLQ without one), the sum of the end offsets of its partitions.
func (s *Service) PipelineEnds(ctx context.Context) (map[string]int64, error) {
	out := map[string]int64{}
	for _, topic := range []string{s.cfg.Topics.DLQStatus, s.cfg.Topics.Audit} {
		spans, err := kafka.Spans(ctx, s.client, topic)
		if s.alone && errors.Is(err, kafka.ErrNoTopic) {
			continue // it is created for the first change
		}
		if err != nil {
			return nil, err
		}
		for _, span := range spans {
			out[topic] += span.End
		}
	}
	return out, nil
}
