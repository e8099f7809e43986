package dlq

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/dialects"
	"github.com/switchback-geo/switchback/internal/dlqindex"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/replay"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// Options is what a [Service] takes besides the pipeline's configuration.
type Options struct {
	Topic     string                  // DLQ of other software, instead of the pipeline's own; it has no status topic
	Alone     bool                    // there is no pipeline: the DLQ has a status topic once it was changed, and no transform is asked
	Dialect   dialects.Dialect        // who wrote it; empty tells by the headers of each letter
	Index     string                  // file or postgres:// address; empty is what the configuration says
	Progress  func(dlqindex.Progress) // told while the index is brought up to date; may be nil
	KafkaOpts []kgo.Opt               // put behind the options of the configuration
	Now       func() time.Time        // the clock. Defaults to time.Now
	Rebuild   bool                    // the index will be rebuilt: a damaged file is set aside (see [dlqindex.Replace])

	// Background leaves the index to the caller, who calls [Service.Refresh]: questions read it as it is.
	Background bool
}

// Service answers questions about one DLQ. It is safe for concurrent use.
type Service struct {
	cfg      *config.Config
	client   *kgo.Client
	admin    *kadm.Client
	letters  *replay.Service // asks today's transform
	store    *dlqindex.Store
	source   dlqindex.Source
	cluster  string
	progress func(dlqindex.Progress)
	now      func() time.Time
	alone    bool

	background bool
	away       atomic.Bool // the last [Service.Refresh] failed
}

// Open connects to Kafka and opens the index. Close it. The error is a *[cluster.UnreachableError]
// when no broker answers.
func Open(ctx context.Context, cfg *config.Config, o Options) (*Service, error) {
	opts, err := kafka.ClientOptions(cfg.Kafka)
	if err != nil {
		return nil, err
	}
	client, err := kgo.NewClient(append(append(opts, kgo.BrokerMaxReadBytes(kafka.MaxAnswer)), o.KafkaOpts...)...)
	if err != nil {
		return nil, fmt.Errorf("kafka client: %w", err)
	}
	s := &Service{cfg: cfg, client: client, admin: kadm.NewClient(client), progress: o.Progress, now: o.Now, alone: o.Alone, background: o.Background}
	if s.now == nil {
		s.now = time.Now
	}
	s.aim(o)
	if err := s.connect(ctx, o); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// aim says which DLQ the service is about, and how it is read.
func (s *Service) aim(o Options) {
	s.source = dlqindex.Source{DLQ: s.cfg.Topics.DLQ, Status: s.cfg.Topics.DLQStatus, MaxReplays: s.cfg.DeadLetters.MaxReplays}
	s.source.MaxValue = max(s.cfg.Source.MaxRecordBytes, kafka.MaxValue)
	if o.Topic != "" && o.Topic != s.source.DLQ {
		other := *s.cfg
		other.Topics.DLQ = o.Topic
		s.cfg, s.source = &other, dlqindex.Source{DLQ: o.Topic, MaxValue: s.source.MaxValue}
	}
	s.source.Reading = string(o.Dialect)
	switch {
	case o.Alone: // what a pipeline's own index knows of the same topic is another matter
		s.source.Reading += " without a pipeline"
		s.source.Decode = func(r *kgo.Record) deadletters.Letter { return deadletters.DecodeAlone(o.Dialect, r, true) }
	case o.Dialect != "":
		s.source.Decode = func(r *kgo.Record) deadletters.Letter { return deadletters.DecodeAs(o.Dialect, r, true) }
	}
}

// states looks whether a DLQ without a pipeline has a status topic, which comes with the first change.
func (s *Service) states(ctx context.Context) error {
	if !s.alone {
		return nil
	}
	_, err := kafka.Partitions(ctx, s.client, s.source.Status)
	_, denied := errors.AsType[*retrytopics.DeniedError](err)
	if errors.Is(err, kafka.ErrNoTopic) || errors.Is(err, kerr.InvalidTopicException) || denied {
		s.source.Status, err = "", nil // who may not look at it sees what others see who have not changed anything
	}
	return err
}

// connect makes sure that the brokers answer, and opens what the service works with.
func (s *Service) connect(ctx context.Context, o Options) error {
	if err := kafka.Reachable(ctx, s.client); err != nil {
		return err
	}
	meta, err := s.admin.BrokerMetadata(ctx)
	if err != nil {
		return fmt.Errorf("ask the cluster for its id: %w", err)
	}
	s.cluster = meta.Cluster
	if err := s.states(ctx); err != nil {
		return err
	}
	if s.letters, err = replay.New(s.cfg, replay.Options{KafkaOpts: o.KafkaOpts, Now: o.Now, Alone: o.Alone, Dialect: o.Dialect}); err != nil {
		return err
	}
	place, err := s.place(o.Index)
	if err != nil {
		return err
	}
	s.store, err = dlqindex.Open(ctx, place)
	if _, damaged := errors.AsType[*dlqindex.DamagedError](err); damaged && o.Rebuild {
		s.store, err = dlqindex.Replace(ctx, place, err)
	}
	return err
}

// place says where the index is: where the caller, the pipeline file, or the default says.
func (s *Service) place(asked string) (string, error) {
	configured, err := s.cfg.Replayer.Index.Place()
	if asked != "" {
		return asked, nil
	}
	if err != nil {
		return "", err
	}
	if place := configured.Reveal(); place != "" {
		return place, nil
	}
	return dlqindex.DefaultFile(cmp.Or(s.cluster, "unknown"), s.source.DLQ)
}

// Close ends the connections and closes the index.
func (s *Service) Close() {
	if s.store != nil {
		_ = s.store.Close() // nothing is open in it that could be lost
	}
	if s.letters != nil {
		s.letters.Close()
	}
	s.client.Close()
}

// Topic is the DLQ that the service answers about.
func (s *Service) Topic() string { return s.source.DLQ }

// Place says where the index is, without a password.
func (s *Service) Place() string { return s.store.Place() }

// Sync brings the index up to date. Every question does so first, unless the caller does (see [Options]).
func (s *Service) Sync(ctx context.Context) (dlqindex.Synced, error) {
	src := s.source
	src.ResolvedBefore = s.now().Add(-s.cfg.DeadLetters.KeepResolved.Std())
	return s.store.Sync(ctx, s.client, src, s.progress)
}

// Rebuild drops what the index has of this DLQ and reads it from its start.
func (s *Service) Rebuild(ctx context.Context) (dlqindex.Synced, error) {
	done, err := s.refill(ctx)
	if _, damaged := errors.AsType[*dlqindex.DamagedError](err); !damaged || s.store.Engine() != dlqindex.SQLite {
		return done, err
	}
	if closing := s.store.Close(); closing != nil {
		return done, errors.Join(err, closing)
	}
	if s.store, err = dlqindex.Replace(ctx, s.store.Place(), err); err != nil {
		return done, err
	}
	return s.Sync(ctx)
}

func (s *Service) refill(ctx context.Context) (dlqindex.Synced, error) {
	if err := s.store.Forget(ctx, s.cluster, s.source.DLQ); err != nil {
		return dlqindex.Synced{}, err
	}
	return s.Sync(ctx)
}

// Check compares the index, as it is, with the topics.
func (s *Service) Check(ctx context.Context) (dlqindex.Checked, error) {
	return s.store.Check(ctx, s.client, s.source)
}

// dlq brings the index up to date and gives the DLQ in it.
func (s *Service) dlq(ctx context.Context) (*dlqindex.DLQ, error) {
	if !s.background {
		if _, err := s.Sync(ctx); err != nil {
			return nil, err
		}
	}
	return s.store.DLQ(ctx, s.cluster, s.source.DLQ)
}
