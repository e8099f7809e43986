package statestore

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/statedir"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// Store is where the replayer keeps what it knows of one DLQ. It is safe for concurrent use after [Store.Open].
type Store struct {
	Topics    config.Topics
	Client    *kgo.Client
	Opts      []kgo.Opt // of the clients that read and write the control topic
	Alone     bool      // the DLQ has no pipeline: its topics are missing before the first change
	Directory string    // keeps everything instead of the topics; "" uses topics

	dir *statedir.Dir // set by Open; nil uses topics
}

// Open opens the directory, if the store has one. It asks the brokers for the cluster's ID.
func (s *Store) Open(ctx context.Context) error {
	if s.Directory == "" {
		return nil
	}
	meta, err := kadm.NewClient(s.Client).BrokerMetadata(ctx)
	if err != nil {
		return fmt.Errorf("ask the cluster for its id: %w", err)
	}
	dir, err := statedir.Open(s.Directory, statedir.Owner{Cluster: meta.Cluster, DLQ: s.Topics.DLQ})
	if err != nil {
		return err
	}
	if dir.Missing() {
		_, err := kafka.Partitions(ctx, s.Client, s.Topics.DLQStatus)
		_, denied := errors.AsType[*retrytopics.DeniedError](err)
		switch {
		case err == nil:
			return fmt.Errorf("%w: the states of this DLQ are in topic %s: leave --state-dir out; otherwise dead letters that were put back would go back again", statedir.ErrState, s.Topics.DLQStatus)
		case !errors.Is(err, kafka.ErrNoTopic) && !denied:
			return err
		}
	}
	s.dir = dir
	return nil
}

// Dir returns the directory that keeps everything, or nil if topics do.
func (s *Store) Dir() *statedir.Dir { return s.dir }

// Uncreated reports whether an error means that a topic is missing which the first change creates.
func (s *Store) Uncreated(err error) bool {
	return s.Alone && (errors.Is(err, kafka.ErrNoTopic) || errors.Is(err, kerr.UnknownTopicOrPartition) ||
		errors.Is(err, kerr.InvalidTopicException)) // or the topic's name is too long
}

// Log returns where states and audit events are read from.
func (s *Store) Log() kafka.Log {
	if s.dir != nil {
		return s.dir
	}
	return kafka.Cluster{Client: s.Client}
}

// AuditPartitions returns the number of partitions of the audit topic.
func (s *Store) AuditPartitions(ctx context.Context) (int32, error) {
	if s.dir != nil {
		return 1, nil
	}
	partitions, err := kafka.Partitions(ctx, s.Client, s.Topics.Audit)
	return int32(len(partitions)), err
}

// StatusSpans returns the readable spans of the status topic. A DLQ without a pipeline has none before its first
// change.
func (s *Store) StatusSpans(ctx context.Context) (map[int32]kafka.Span, error) {
	spans, err := s.Log().Spans(ctx, s.Topics.DLQStatus)
	if s.Uncreated(err) {
		return map[int32]kafka.Span{}, nil
	}
	return spans, err
}

// DecidedStatusSpans returns the spans of the status topic up to its present end. It waits for open transactions.
func (s *Store) DecidedStatusSpans(ctx context.Context) (map[int32]kafka.Span, error) {
	if s.dir != nil {
		return s.dir.Spans(ctx, s.Topics.DLQStatus)
	}
	return kafka.DecidedSpans(ctx, s.Client, s.Topics.DLQStatus)
}

// StatusTopicID returns the ID of the status topic; zero if the topic does not exist yet or a directory keeps the
// states.
func (s *Store) StatusTopicID(ctx context.Context) (kadm.TopicID, error) {
	if s.dir != nil {
		return kadm.TopicID{}, nil
	}
	return s.TopicID(ctx, s.Topics.DLQStatus)
}

// TopicID returns the ID of a topic; zero if the topic does not exist yet.
func (s *Store) TopicID(ctx context.Context, topic string) (kadm.TopicID, error) {
	details, err := kadm.NewClient(s.Client).ListTopics(ctx, topic)
	if err != nil {
		return kadm.TopicID{}, fmt.Errorf("look up topic %s: %w", topic, kafka.DeniedTopic("Describe", topic, err))
	}
	return details[topic].ID, nil
}

// ControlName names where jobs and lease are.
func (s *Store) ControlName() string {
	if s.dir != nil {
		return s.dir.Path()
	}
	return s.Topics.Control
}

// Control returns the content of the control topic, or of the file that replaces it.
func (s *Store) Control(ctx context.Context) (control.View, error) {
	if s.dir == nil {
		return control.Read(ctx, s.Opts, s.Topics.Control)
	}
	records, err := s.dir.Control()
	if err != nil {
		return control.View{}, err
	}
	return control.ViewOf(records)
}

// OpenLeases returns a writer of leases and jobs. The caller closes it.
func (s *Store) OpenLeases() (*control.Leases, error) {
	if s.dir == nil {
		return control.OpenLeases(s.Opts, s.Topics.Control)
	}
	put := func(ctx context.Context, records ...*kgo.Record) error {
		return s.dir.PutControl(ctx, control.Outlives, records...)
	}
	return control.LeasesBy(put, s.dir.Path()), nil
}
