package dlq

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/dlqindex"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/replay"
)

// Options is what a [Service] takes besides the pipeline's configuration.
type Options struct {
	replay.Options

	Topic string // DLQ of other software, instead of the pipeline's own; it has no status topic

	// Background leaves the index to the caller, who calls [Service.Refresh]: questions read it as it is.
	Background bool
}

// Service answers questions about one DLQ. It is safe for concurrent use.
type Service struct {
	cfg     *config.Config
	client  *kgo.Client // of letters
	admin   *kadm.Client
	letters *replay.Service // asks today's transform, and has the index
	index   *dlqindex.Index
	source  dlqindex.Source
	now     func() time.Time
	alone   bool
	foreign bool // the DLQ is not the pipeline's own

	background bool
	away       atomic.Bool // the last [Service.Refresh] failed
}

// Open connects to Kafka and opens the index. The caller must Close the service. The error is a
// *[kafka.UnreachableError] if no broker answers.
func Open(ctx context.Context, cfg *config.Config, o Options) (*Service, error) {
	foreign := o.Topic != "" && o.Topic != cfg.Topics.DLQ
	if foreign {
		other := *cfg
		other.Topics.DLQ = o.Topic
		cfg, o.Index.Foreign = &other, true
	}
	letters, err := replay.New(cfg, o.Options)
	if err != nil {
		return nil, err
	}
	client := letters.Client()
	s := &Service{cfg: cfg, client: client, admin: kadm.NewClient(client), letters: letters, now: o.Now, alone: o.Alone, foreign: foreign, background: o.Background}
	if s.now == nil {
		s.now = time.Now
	}
	if err := s.connect(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// connect checks that the brokers answer, and opens the states and the index.
func (s *Service) connect(ctx context.Context) error {
	err := s.letters.Reachable(ctx)
	if err == nil {
		err = s.letters.OpenState(ctx)
	}
	if err != nil {
		return err
	}
	if s.index, err = s.letters.Index(ctx); err != nil {
		return err
	}
	s.source = s.index.Source()
	return nil
}

// Close ends the connections and closes the index.
func (s *Service) Close() { s.letters.Close() }

// Topic is the DLQ that the service answers about.
func (s *Service) Topic() string { return s.source.DLQ }

// lookTime is how long a broker may take to say whether the DLQ exists: without an answer, indexed dead letters can
// still be read.
const lookTime = time.Second

// Exists returns an error if a broker says that there is no such DLQ. Without an answer it returns nil.
func (s *Service) Exists(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	if _, err := kafka.Partitions(ctx, s.client, s.source.DLQ); errors.Is(err, kafka.ErrNoTopic) {
		return err
	}
	return nil
}

// Alone reports whether there is no pipeline: whether records flow is then unknown.
func (s *Service) Alone() bool { return s.alone }

// Replays returns the service that puts dead letters back and changes them. It uses the same index.
func (s *Service) Replays() *replay.Service { return s.letters }

// Index returns the index that answers questions.
func (s *Service) Index() *dlqindex.Index { return s.index }

// dlq brings the index up to date, unless the caller does (see [Options]), and returns the DLQ in it.
func (s *Service) dlq(ctx context.Context) (*dlqindex.DLQ, error) {
	if s.background {
		return s.index.DLQ(ctx)
	}
	return s.index.Fresh(ctx)
}
