package replay

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/user"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/dialects"
	"github.com/switchback-geo/switchback/internal/dlqindex"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/pipeline"
	"github.com/switchback-geo/switchback/internal/proof"
	"github.com/switchback-geo/switchback/internal/replay/dryrun"
	"github.com/switchback-geo/switchback/internal/replay/jobs"
	"github.com/switchback-geo/switchback/internal/replay/states"
	"github.com/switchback-geo/switchback/internal/replay/statestore"
	"github.com/switchback-geo/switchback/internal/replay/target"
	"github.com/switchback-geo/switchback/internal/replay/transaction"
)

// Options are the parameters of a [Service] besides the pipeline's configuration.
type Options struct {
	// Alone means that the DLQ has no pipeline (see [config.LoadDLQ]). Dead letters go back to the topics that their
	// headers name, no transform judges them, and no consumer reports their outcomes.
	Alone     bool
	StateDir  string           // directory with the states, audit events and jobs of a DLQ without a pipeline; "" keeps them in topics
	Dialect   dialects.Dialect // software that wrote a DLQ without a pipeline; "" recognizes it by the headers of each dead letter
	Index     dlqindex.Options // index of dead letters; Alone, Dialect and Now of this struct replace its own
	Logger    *slog.Logger     // defaults to none
	KafkaOpts []kgo.Opt        // appended to the options from the configuration
	Now       func() time.Time // the clock; defaults to time.Now
}

// Service works on the dead letters of one pipeline. It is safe for concurrent use. Only one call at a time changes
// dead letters, in this process or elsewhere: the lease makes the others wait or fail (see [operation.Call]).
type Service struct {
	cfg     *config.Config
	opts    []kgo.Opt
	client  *kgo.Client
	mapping *pipeline.Mapping
	alone   bool // see Options
	dialect dialects.Dialect
	log     *slog.Logger
	by      string // default operator
	user    string // user of the operating system, and the machine
	now     func() time.Time
	keys    proof.Keyring // set by openKeys
	given   []proof.Key   // keys from the environment; nil if the control topic has them

	store   *statestore.Store
	states  *states.Reader
	jobs    *jobs.Registry
	writing *transaction.Config
	targets *target.Finder
	dryRun  *dryrun.Runner

	batchLetters int // see the constant

	indexOptions dlqindex.Options
	opening      sync.Mutex      // guards index
	index        *dlqindex.Index // nil before the first use
}

// New returns a service. It contacts no broker. An error names the invalid part of the configuration.
func New(cfg *config.Config, o Options) (*Service, error) {
	mapping, err := pipeline.NewMapping(cfg)
	if err != nil {
		return nil, err
	}
	given, err := proof.FromEnvironment(os.Getenv)
	if err != nil {
		return nil, err
	}
	opts, err := kafka.ClientOptions(cfg.Kafka)
	if err != nil {
		return nil, err
	}
	opts = append(append(opts, kgo.BrokerMaxReadBytes(kafka.MaxAnswer)), o.KafkaOpts...)
	client, err := kgo.NewClient(opts...)
	if err != nil {
		return nil, fmt.Errorf("kafka client: %w", err)
	}
	s := &Service{
		cfg: cfg, opts: opts, given: given, client: client, mapping: mapping, alone: o.Alone, dialect: o.Dialect,
		log: cmp.Or(o.Logger, slog.New(slog.DiscardHandler)), by: osUser(), user: osUser() + "@" + hostName(), now: o.Now,
		batchLetters: batchLetters,
	}
	s.store = &statestore.Store{Topics: cfg.Topics, Client: client, Opts: opts, Alone: o.Alone, Directory: o.StateDir}
	if s.now == nil {
		s.now = time.Now
	}
	now := func() time.Time { return s.now() }
	s.states = &states.Reader{Store: s.store, Client: client, DLQ: s.reading(), DeadLetters: cfg.DeadLetters, Now: now}
	s.jobs = jobs.New(s.store, s.log, now, hostName())
	s.dryRun = dryrun.New(cfg, opts, client, mapping, o.Alone, s.log)
	s.targets = &target.Finder{Config: cfg, Client: client, Alone: o.Alone, Now: now}
	s.writing = transaction.NewConfig(s.store, s.states, cfg.Source.Topic, s.maxValue(), s.log)
	s.indexOptions = o.Index
	s.indexOptions.Alone, s.indexOptions.Dialect, s.indexOptions.Now = o.Alone, o.Dialect, s.now
	return s, nil
}

// Index returns the index of the DLQ. The first call opens it; Close closes it.
func (s *Service) Index(ctx context.Context) (*dlqindex.Index, error) {
	s.opening.Lock()
	defer s.opening.Unlock()
	if s.index != nil {
		return s.index, nil
	}
	index, err := dlqindex.OpenIndex(ctx, s.client, s.cfg, s.indexOptions)
	if err == nil {
		s.index = index
	}
	return index, err
}

// DryRun predicts what replays do with dead letters.
func (s *Service) DryRun() *dryrun.Runner { return s.dryRun }

// maxValue returns the largest value that is read into memory, in bytes. The pipeline processes no larger ones.
func (s *Service) maxValue() int { return max(kafka.MaxValue, s.cfg.Source.MaxRecordBytes) }

// reading returns how the DLQ is read.
func (s *Service) reading() deadletters.Reading {
	return deadletters.Reading{Dialect: s.dialect, Alone: s.alone, MaxValue: s.maxValue()}
}

// Close closes the connections and the index.
func (s *Service) Close() {
	s.opening.Lock()
	defer s.opening.Unlock()
	if s.index != nil {
		_ = s.index.Close() // the index is only read at this point, so nothing is lost
	}
	s.client.Close()
}

// Client returns the client of the brokers. [Service.Close] closes it.
func (s *Service) Client() *kgo.Client { return s.client }

// Reachable returns in one line why no broker answers, or nil.
func (s *Service) Reachable(ctx context.Context) error { return kafka.Reachable(ctx, s.client) }

func osUser() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "unknown"
}

func hostName() string {
	host, err := os.Hostname()
	if err != nil {
		return "unknown host"
	}
	return host
}
