package replay

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/user"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/dialects"
	"github.com/switchback-geo/switchback/internal/dlqindex"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/pipeline"
	"github.com/switchback-geo/switchback/internal/proof"
	"github.com/switchback-geo/switchback/internal/statedir"
)

// Options is what a [Service] takes besides the pipeline's configuration.
type Options struct {
	// Alone says that there is no pipeline (see [config.LoadDLQ]): letters go back to where their headers say that they came from, no
	// transform is asked, and nobody tells what becomes of them.
	Alone     bool
	StateDir  string           // directory that keeps states, audit events and jobs of a DLQ without a pipeline; "" keeps them in topics
	Dialect   dialects.Dialect // who wrote a DLQ without a pipeline; "" tells by the headers of each letter
	Index     dlqindex.Options // where dead letters are chosen; Alone, Dialect and Now are those of these options
	Logger    *slog.Logger     // defaults to none
	KafkaOpts []kgo.Opt        // put behind the options of the configuration
	Now       func() time.Time // the clock. Defaults to time.Now
}

// Service works on the dead letters of one pipeline. It is safe for concurrent use. Of calls that change dead letters, in this process
// or elsewhere, one is at work at a time: the others are refused, or wait, by the lease (see [Call]).
type Service struct {
	cfg     *config.Config
	opts    []kgo.Opt
	client  *kgo.Client
	mapping *pipeline.Mapping
	headers headerRules
	alone   bool // see Options
	dialect dialects.Dialect
	log     *slog.Logger
	by      string // who acts when a call names nobody
	user    string // of the operating system, and the machine
	now     func() time.Time
	keys    proof.Keyring // filled by openKeys
	given   []proof.Key   // of the environment; nil when the control topic holds them

	stateDir string
	files    *statedir.Dir // nil keeps states in topics

	leaseLife, leaseRenewal time.Duration // see the constants
	lastWord                time.Duration // that a word to the control topic may take, also after an interruption
	transactionTimeout      time.Duration // see the constant
	batchLetters            int           // see the constant

	limits atomic.Pointer[outputLimits] // nil before the cluster has answered

	indexOptions dlqindex.Options
	opening      sync.Mutex      // guards index
	index        *dlqindex.Index // nil before it was asked for
}

// New prepares a service; no broker is spoken to yet. The error says what of the configuration
// cannot be used.
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
		cfg: cfg, opts: opts, given: given, client: client, mapping: mapping, headers: newHeaderRules(cfg.Replayer.Headers), alone: o.Alone, stateDir: o.StateDir, dialect: o.Dialect,
		log: cmp.Or(o.Logger, slog.New(slog.DiscardHandler)), by: osUser(), user: osUser() + "@" + hostName(), now: o.Now,
		leaseLife: leaseLife, leaseRenewal: leaseRenewal, lastWord: settleTimeout, transactionTimeout: transactionTimeout, batchLetters: batchLetters,
	}
	if s.now == nil {
		s.now = time.Now
	}
	s.indexOptions = o.Index
	s.indexOptions.Alone, s.indexOptions.Dialect, s.indexOptions.Now = o.Alone, o.Dialect, s.now
	return s, nil
}

// Index returns the index of the DLQ, which the first call opens. It lives as long as the service.
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

// maxValue is how many bytes of a value are held in memory: what the pipeline processes has no more.
func (s *Service) maxValue() int { return max(kafka.MaxValue, s.cfg.Source.MaxRecordBytes) }

// reading says how the DLQ is read.
func (s *Service) reading() deadletters.Reading {
	r := deadletters.Reading{MaxValue: s.maxValue()}
	if s.alone {
		r.Decode = func(r *kgo.Record) deadletters.Letter { return deadletters.DecodeAlone(s.dialect, r, true) }
	}
	return r
}

// Close ends the connections and closes the index.
func (s *Service) Close() {
	s.opening.Lock()
	defer s.opening.Unlock()
	if s.index != nil {
		_ = s.index.Close() // nothing is open in it that could be lost
	}
	s.client.Close()
}

// Client returns the connection to the brokers, which [Service.Close] ends.
func (s *Service) Client() *kgo.Client { return s.client }

// Reachable reports in one line why no broker answers, or nil.
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
