package replay

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/replay/operation"
	"github.com/switchback-geo/switchback/internal/topics"
)

// OpenState opens the state directory, if the options name one. It must be called first.
func (s *Service) OpenState(ctx context.Context) error {
	if err := s.store.Open(ctx); err != nil {
		return err
	}
	if dir := s.store.Dir(); dir != nil {
		s.indexOptions.States, s.indexOptions.StatesID = dir, "directory "+dir.ID()
	}
	return nil
}

// MissingState returns the directory that the first change creates; "" if there is none to create.
func (s *Service) MissingState() string {
	if dir := s.store.Dir(); dir != nil && dir.Missing() {
		return dir.Path()
	}
	return ""
}

// CreateState creates what [Service.MissingState] returned.
func (s *Service) CreateState() error { return s.store.Dir().Create() }

// MissingTopics returns the missing topics among those in which the replayer stores the states of a DLQ without a
// pipeline. A change needs all of them. A pipeline's own command creates its topics.
func (s *Service) MissingTopics(ctx context.Context) ([]topics.Topic, error) {
	if !s.alone || s.store.Dir() != nil {
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
