package replay

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/replay/operation"
	"github.com/switchback-geo/switchback/internal/topics"
)

// statusSpans returns the readable spans of the status topic. A DLQ without a pipeline has none before its first
// change.
func (s *Service) statusSpans(ctx context.Context) (map[int32]kafka.Span, error) {
	spans, err := s.logOf().Spans(ctx, s.cfg.Topics.DLQStatus)
	if s.unmade(err) {
		return map[int32]kafka.Span{}, nil
	}
	return spans, err
}

// unmade reports whether an error means that a topic is missing which the first change creates.
func (s *Service) unmade(err error) bool {
	return s.alone && (errors.Is(err, kafka.ErrNoTopic) || errors.Is(err, kerr.UnknownTopicOrPartition) ||
		errors.Is(err, kerr.InvalidTopicException)) // or the topic's name is too long
}

// MissingTopics returns the missing topics among those in which the replayer stores the states of a DLQ without a
// pipeline. A change needs all of them. A pipeline's own command creates its topics.
func (s *Service) MissingTopics(ctx context.Context) ([]topics.Topic, error) {
	if !s.alone || s.files != nil {
		return nil, nil
	}
	partitions, err := kafka.Partitions(ctx, s.client, s.cfg.Topics.DLQ)
	if err != nil {
		return nil, err
	}
	plan, err := topics.OfReplayer(s.cfg, int32(len(partitions)))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", operation.ErrOptions, err)
	}
	return topics.Missing(ctx, kadm.NewClient(s.client), plan)
}

// CreateTopics creates the topics that [Service.MissingTopics] returned.
func (s *Service) CreateTopics(ctx context.Context, missing []topics.Topic) error {
	if err := topics.Create(ctx, kadm.NewClient(s.client), missing); err != nil {
		return err
	}
	for _, t := range missing { // the client may cache for a while that a topic does not exist
		for {
			_, err := kafka.Partitions(ctx, s.client, t.Name)
			if err == nil {
				break
			}
			if !errors.Is(err, kafka.ErrNoTopic) {
				return err
			}
			if err := kafka.Pause(ctx, brokerPause); err != nil {
				return err
			}
		}
	}
	return nil
}
