package consumer

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/switchback-geo/switchback/pkg/retrytopics/engine"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/gates"
	"github.com/switchback-geo/switchback/internal/governance"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/pipeline"
	"github.com/switchback-geo/switchback/internal/proof"
	"github.com/switchback-geo/switchback/internal/sink"
	"github.com/switchback-geo/switchback/internal/status"
	"github.com/switchback-geo/switchback/internal/telemetry"
	"github.com/switchback-geo/switchback/internal/topics"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// Options are the settings of a process besides its configuration.
type Options struct {
	Logger   *slog.Logger         // Defaults to one that discards.
	Registry *prometheus.Registry // Defaults to a new one.
	RunID    string               // Defaults to NewRunID().
	Instance string               // Defaults to engine.instance of the configuration.
	Version  string               // shown in metrics
	Limits   Limits               // of a bounded run
	File     *config.Config       // as it was read, before the command line changed it; Reload compares with it. Defaults to the configuration.
	Level    *slog.LevelVar       // of the logger, for Reload; nil if it cannot change
	Interval time.Duration        // between two checks of the reference sets' files. Defaults to 10 s.
	AnyPort  bool                 // serves metrics at a free port if the one of metrics.listen is in use, for example by another instance on the host
}

// Consumer is one pipeline in one process. Make it with New and run it once.
type Consumer struct {
	cfg      *config.Config
	log      *slog.Logger
	registry *prometheus.Registry
	runID    string
	kafka    []kgo.Opt
	work     *pipeline.Pipeline
	engine   *engine.Engine
	sink     *sink.Sink // nil if there is no table
	metrics  *telemetry.Metrics
	waiting  pendingDeadLetters
	tally    *tally
	ledger   *governance.Ledger
	meter    *meter
	orders   *orders
	gates    *gates.Gates
	now      func() time.Time
	began    time.Time
	limits   Limits
	interval time.Duration // between two checks of the reference sets' files
	given    []proof.Key   // replay keys from the environment; nil if the control topic has them
	keys     proof.Keyring
	lines    *runLog // of a bounded run

	latest  *config.Config // the file with the changes that Reload has applied since
	level   *slog.LevelVar
	anyPort bool

	announced announced
	remapped  chan struct{} // has room for one value: the mapping changed and must be published

	mu      sync.Mutex
	summary Summary
}

// NewRunID returns a random ID for a run.
func NewRunID() string { return uuid.NewString() }

// New builds a consumer. Its only I/O is to read the secrets that the configuration names.
func New(cfg *config.Config, opts Options) (*Consumer, error) {
	file := cmp.Or(opts.File, cfg)
	cfg = opts.Limits.apply(cfg)
	c := &Consumer{cfg: cfg, limits: opts.Limits, interval: opts.Interval, log: opts.Logger, registry: opts.Registry, runID: opts.RunID, tally: newTally(cfg), gates: newGates(cfg), now: time.Now, latest: file, level: opts.Level, anyPort: opts.AnyPort, remapped: make(chan struct{}, 1)}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	if c.registry == nil {
		c.registry = telemetry.NewRegistry(cfg.Pipeline.ID)
	}
	if c.runID == "" {
		c.runID = NewRunID()
	}
	if opts.Instance != "" {
		own := *cfg
		own.Engine.Instance = opts.Instance
		c.cfg = &own
	}
	c.log = c.log.With("pipeline", cfg.Pipeline.ID, "run_id", c.runID)
	c.ledger, c.meter = governance.NewLedger(cfg, c.runID), newMeter(cfg.Governance.Energy)
	var err error
	if c.kafka, err = kafka.ClientOptions(cfg.Kafka); err != nil {
		return nil, err
	}
	if c.given, err = proof.FromEnvironment(os.Getenv); err != nil {
		return nil, err
	}
	if c.work, err = pipeline.New(cfg, c.log); err != nil {
		return nil, err
	}
	c.announced.version = opts.Version
	if _, err := c.announce(); err != nil {
		return nil, err
	}
	if err := c.openSink(); err != nil {
		return nil, err
	}
	if c.engine, err = engine.New(c.engineConfig()); err != nil {
		return nil, err
	}
	c.orders = c.newOrders()
	registry := telemetry.OfPipeline(c.registry, cfg.Pipeline.ID)
	c.metrics, err = telemetry.NewMetrics(registry, c.engine.Stats, cfg.Source.Topic,
		telemetry.Build{Version: opts.Version, RunID: c.runID, Failures: cfg.Pipeline.RetryPolicy.Classification().Possible()})
	if err != nil {
		return nil, fmt.Errorf("register metrics: %w", err)
	}
	if err := registry.Register(telemetry.NewDependencyCollector(c.work.Providers, c.sinkStatus)); err != nil {
		return nil, fmt.Errorf("register metrics: %w", err)
	}
	for _, collector := range []prometheus.Collector{telemetry.NewDecimalsCollector(c.gates.Decimals), telemetry.NewGatesOff(c.gates.Suspended), telemetry.NewDeadLetters(c.waiting.count)} {
		if err := registry.Register(collector); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	return c, nil
}

// retries returns the part of the engine's configuration that sets how often, when and where a failure is retried.
func retries(cfg *config.Config) retrytopics.Config {
	chosen := cfg.Pipeline.RetryPolicy
	policies, classifier := chosen.Engine(), classify.New(chosen.Classification())
	var tiers []policy.Tier
	for i, delay := range chosen.TierDelays() {
		tiers = append(tiers, policy.Tier{Topic: cfg.TierTopics()[i], Delay: delay})
	}
	return retrytopics.Config{
		Source: cfg.Source.Topic, DLQ: cfg.Topics.DLQ,
		Retries: retrytopics.Retries{
			Tiers: tiers, TierPrefix: cfg.Topics.TierPrefix, Policy: policies.Default, ByCategory: policies.ByCategory, Classify: classifier.Of,
		},
	}
}

// Limits of a record in memory, in bytes. A record larger than source.max_record_bytes becomes a dead letter, which
// keeps the original bytes up to keptWhole.
const (
	keptWhole   = 16 << 20
	headerBytes = 1 << 20 // of a record, besides its value
)

func (c *Consumer) engineConfig() retrytopics.Config {
	cfg := c.cfg
	journal := &journal{cfg: cfg, runID: c.runID}
	e := memories(cfg)
	e.Origin.RunID = c.runID
	e.Handler, e.Journal.Event, e.Hooks.OnCommit = c.observed((&machine{log: c.log}).guard(c.work.Handle)), journal.records, c.committed
	e.Hooks.OnFailure, e.Journal.Loss, e.Origin.Proven = c.failed, journal.loss, c.keys.Verify
	e.Hooks.OnTransaction = func(took time.Duration, committed bool) { c.metrics.Transaction(took, committed) }
	e.Journal.KeepPartition = []string{cfg.Topics.DLQStatus}
	if cfg.Governance.On() {
		e.Journal.KeepPartition = append(e.Journal.KeepPartition, cfg.Topics.Audit)
		e.Journal.HashChain = retrytopics.HashChain{HeadTopic: cfg.Topics.Governance, Extend: c.ledger.Extend}
	}
	e.Membership.Static, e.Membership.Announce = cfg.Engine.Static, c.announced.get
	e.Limits.Concurrency, e.Timing.Handler = cfg.Engine.Concurrency, cfg.Engine.HandlerTimeout.Std()
	e.Timing.Commit = cfg.Engine.CommitInterval.Std()
	e.Membership.Session, e.Timing.Shutdown = cfg.Engine.SessionTimeout.Std(), engineShutdown(cfg.Engine.ShutdownTimeout.Std())
	e.Limits.HeldRecords, e.Limits.HeldBytes = cfg.Engine.MaxHeldRecords, cfg.Engine.MaxHeldBytes
	e.Limits.RecordBytes = max(keptWhole, cfg.Source.MaxRecordBytes+headerBytes)
	e.Outputs = []string{cfg.Output.Topic}
	e.Client.Options, e.Client.Principal, e.Logger = c.kafka, kafka.Principal(cfg.Kafka), c.log
	return e
}

// engineShutdown returns the engine's part of the time in which the process must end; the rest is for the summary, a
// last order and the connections.
func engineShutdown(whole time.Duration) time.Duration { return whole - min(whole/4, 5*time.Second) }

// committed is called with every event after its commit.
func (c *Consumer) committed(events []*retrytopics.Event) {
	used := c.meter.share(len(events))
	for _, e := range events {
		c.metrics.Observe(e)
		c.tally.add(e)
		c.ended(e)
		for _, dead := range e.Dead {
			logDecision(context.Background(), c.log, dead)
		}
		logDecision(context.Background(), c.log, e, retryAttrs(e, c.ledger.Status(e), used)...)
	}
	if c.lines != nil {
		c.lines.write(c.tally.sum(), false)
	}
}

// preflight fails early with a clear error. Without topics, a group would silently wait forever.
func (c *Consumer) preflight(ctx context.Context, client *kgo.Client) error {
	if err := kafka.Reachable(ctx, client); err != nil {
		return err
	}
	admin := kadm.NewClient(client)
	plan, err := topics.PlanOn(ctx, admin, c.cfg)
	if err != nil {
		return fmt.Errorf("check topics: %w", err)
	}
	faults, err := topics.Check(ctx, admin, plan)
	if err != nil {
		return fmt.Errorf("check topics: %w", err)
	}
	var blocking []string
	for _, f := range faults {
		if f.Blocks() {
			blocking = append(blocking, f.String())
		} else {
			c.log.WarnContext(ctx, "topic has unexpected settings", "topic", f.Topic, "fault", f.String())
		}
	}
	if len(blocking) > 0 {
		return errors.New("the topics do not fit, so nothing is consumed:\n  " + strings.Join(blocking, "\n  "))
	}
	if err := c.table(ctx); err != nil {
		return err
	}
	return c.schema(ctx)
}

// schema refuses to start if the registry would refuse every output. A registry that does not answer does not prevent
// the start.
func (c *Consumer) schema(ctx context.Context) error {
	err := c.work.Prepare(ctx)
	if !passes(err) {
		return err
	}
	c.log.WarnContext(ctx, "the schema registry does not respond; records wait for it", "error", err)
	return nil
}

// passes reports whether a start-up error is transient, so that records can wait until it passes.
func passes(err error) bool { return err != nil && classify.Of(err).Transient() }

// Reload applies the keys of another configuration that can change while the consumer runs: rates, breakers and the log
// level. It logs each key that it applies, and each that needs a restart. It may be called from one goroutine at a time.
func (c *Consumer) Reload(ctx context.Context, next *config.Config) error {
	taken, restart, err := config.Changes(c.latest, next)
	if err != nil {
		return fmt.Errorf("compare the configurations: %w", err)
	}
	for _, key := range restart {
		c.log.WarnContext(ctx, "configuration: this change needs a restart", "key", key)
	}
	if len(taken) == 0 {
		c.log.InfoContext(ctx, "configuration reloaded; no changed setting takes effect while the consumer runs", "needs_restart", len(restart))
		return nil
	}
	c.latest = c.latest.Taking(next)
	c.work.Retune(c.latest)
	if c.sink != nil {
		c.sink.Retune(c.latest.Sink.PostGIS.Breaker)
	}
	if c.level != nil {
		c.level.Set(c.latest.Log.Level.Slog())
	}
	c.log.InfoContext(ctx, "configuration reloaded", "changed", strings.Join(taken, ", "), "needs_restart", len(restart))
	return nil
}

// announced is what the instance publishes in its group membership. The engine reads it from its own goroutines.
type announced struct {
	version string // of the software
	text    atomic.Pointer[[]byte]
}

func (a *announced) get() []byte {
	if text := a.text.Load(); text != nil {
		return *text
	}
	return nil
}

// announce stores the current fingerprint of the mapping, and reports whether it changed.
func (c *Consumer) announce() (changed bool, err error) {
	mapping, err := c.work.Fingerprint()
	if err != nil {
		return false, err
	}
	text, err := status.Announcement{Mapping: mapping, Software: c.announced.version}.Encode()
	if err != nil {
		return false, fmt.Errorf("announce the mapping: %w", err)
	}
	changed = !bytes.Equal(text, c.announced.get())
	c.announced.text.Store(&text)
	return changed, nil
}

// publish writes this instance's pipeline file to the control topic at the start and whenever the mapping changes, until
// the context ends. A replayer with another file can then predict what the instance would do with a dead letter. Nothing
// depends on it, so an error is only logged.
func (c *Consumer) publish(ctx context.Context) {
	for {
		if err := c.publishOnce(ctx); err != nil && ctx.Err() == nil {
			c.log.WarnContext(ctx, "the pipeline file is not published; a replayer with another file cannot forecast how this instance would handle a dead letter", "error", c.denied(err))
		}
		select {
		case <-c.remapped:
		case <-ctx.Done():
			return
		}
	}
}

func (c *Consumer) publishOnce(ctx context.Context) error {
	fingerprint, err := c.work.Fingerprint()
	if err != nil {
		return err
	}
	own := *c.cfg
	own.Engine.Instance = "" // the file of all instances is the same
	file, err := own.YAML()
	if err != nil {
		return err
	}
	m := control.Mapping{File: string(file), Software: c.announced.version, At: c.now().UTC()}
	return control.PublishMapping(ctx, c.kafka, c.cfg.Topics.Control, fingerprint, m)
}

// referencesChanged joins the group again when the keys of a reference set changed, because this changes the mapping.
func (c *Consumer) referencesChanged(ctx context.Context) {
	changed, err := c.announce()
	if err != nil {
		c.log.WarnContext(ctx, "the changed mapping could not be announced to the group", "error", err)
		return
	}
	if !changed {
		return
	}
	c.engine.Rejoin()
	select {
	case c.remapped <- struct{}{}:
	default: // it is published soon anyway
	}
}
