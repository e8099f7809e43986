package replay

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/topics"
)

// statusSpans is what can be read of the status topic. A DLQ without a pipeline has none before its first change.
func (s *Service) statusSpans(ctx context.Context) (map[int32]kafka.Span, error) {
	spans, err := s.logOf().Spans(ctx, s.cfg.Topics.DLQStatus)
	if s.unmade(err) {
		return map[int32]kafka.Span{}, nil
	}
	return spans, err
}

// unmade reports whether an error says that a topic is missing which is made for the first change.
func (s *Service) unmade(err error) bool {
	return s.alone && (errors.Is(err, kafka.ErrNoTopic) || errors.Is(err, kerr.UnknownTopicOrPartition) ||
		errors.Is(err, kerr.InvalidTopicException)) // or has too long a name
}

// MissingTopics gives, of the topics in which the replayer keeps what it knows of a DLQ without a pipeline, those that do not exist. A
// change needs all of them. A pipeline's are made by its own command.
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
		return nil, fmt.Errorf("%w: %w", ErrOptions, err)
	}
	return topics.Missing(ctx, kadm.NewClient(s.client), plan)
}

// CreateTopics makes what [Service.MissingTopics] gave.
func (s *Service) CreateTopics(ctx context.Context, missing []topics.Topic) error {
	if err := topics.Create(ctx, kadm.NewClient(s.client), missing); err != nil {
		return err
	}
	for _, t := range missing { // the client may remember for a while that there was none
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
