package consumer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/switchback-geo/switchback/pkg/retrytopics/engine"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/telemetry"
)

// PausedError means that a bounded run ended early, because the pipeline is paused.
type PausedError struct{ State control.State }

// Error states since when, by whom and why the pipeline is paused, and how to resume it.
func (e *PausedError) Error() string {
	return fmt.Sprintf("the pipeline is %s; finished records are committed, and nothing is lost; once the cause is fixed: consumer resume --reason …", e.State)
}

// Run consumes until the context ends, finishes what is in flight, commits it and leaves the group. While the pipeline
// is paused, it stays in the group and waits. It returns an error if the brokers cannot be reached at the start, if the
// topics do not fit, or if only a person can help.
func (c *Consumer) Run(ctx context.Context) error { return c.run(ctx, c.engine.Run, false) }

func (c *Consumer) newOrders() *orders {
	host, _ := os.Hostname()
	name := cmp.Or(c.cfg.Engine.Instance, host, "unnamed")
	return &orders{
		log: c.log, by: "consumer " + name, runID: c.runID, engine: c.engine, state: newKnownOrders(), wake: make(chan struct{}, 1),
		write: control.NewWriter(c.cfg, c.kafka), named: c.denied, delivered: c.gates.Delivered, reports: map[string]control.State{},
		onResume: c.gates.Reset, suspend: c.gates.Suspend, onBatch: c.gates.Forget, onWritten: func() {},
	}
}

func (c *Consumer) run(ctx context.Context, engine func(context.Context) error, bounded bool) error {
	c.began = time.Now()
	defer c.work.Close()
	if c.sink != nil {
		defer c.sink.Close()
	}
	client, err := kgo.NewClient(c.kafka...)
	if err != nil {
		return fmt.Errorf("kafka client: %w", err)
	}
	defer client.Close()
	if err := c.preflight(ctx, client); err != nil {
		return c.denied(err)
	}
	if err := c.work.Load(ctx); err != nil {
		return c.denied(err)
	}
	stop, err := c.serve(ctx)
	if err != nil {
		return err
	}
	defer stop()
	err = c.underOrders(ctx, engine, bounded)
	c.sum(ctx, client, err)
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		err = nil // stopped on purpose; the summary says "interrupted"
	}
	return err
}

// underOrders runs the engine while it follows the control topic. It reads the topic to its end before the first record
// is consumed, so an instance that starts while the pipeline is paused is paused.
func (c *Consumer) underOrders(ctx context.Context, engine func(context.Context) error, bounded bool) error {
	reader, err := control.Open(ctx, c.kafka, c.cfg.Topics.Control)
	if err != nil {
		return c.denied(err)
	}
	defer reader.Close()
	if err := c.openKeys(ctx, reader.View()); err != nil {
		return err
	}
	running, end := context.WithCancelCause(ctx)
	defer end(nil)
	if bounded {
		c.orders.onWritten = func() { end(errPaused) }
	}
	c.orders.take(ctx, reader.View())
	if limit, capped := c.cfg.CappedByCI(); capped {
		c.log.WarnContext(ctx, "CI=true in the environment: attempts are capped", "max_attempts", limit, "key", "pipeline.retry_policy.ci_max_attempts")
	}
	c.log.InfoContext(ctx, "consumer started", "source", c.cfg.Source.Topic, "group", c.cfg.Source.Group, "instance", c.cfg.Engine.Instance)
	besides, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { c.work.Watch(besides, c.interval, c.log, c.denied, c.referencesChanged) })
	wg.Go(func() { c.orders.run(besides) })
	wg.Go(func() { c.publish(besides) })
	if !bounded && c.cfg.Metrics.Listen != "" {
		wg.Go(func() { c.countPending(besides) })
	}
	wg.Go(func() {
		if err := reader.Follow(besides, func(v control.View) { c.ordered(ctx, v) }, func(err error) { c.orders.cannotRead(ctx, c.denied(err)) }); err != nil {
			end(err)
		}
	})
	if running.Err() == nil {
		err = engine(running)
	}
	stop()
	wg.Wait()
	if _, paused := c.orders.paused(); paused && bounded {
		end(errPaused) // nothing new, unless the order could not be written
	}
	return c.denied(c.ending(ctx, running, err))
}

// errPaused ends a bounded run.
var errPaused = errors.New("paused")

// denied adds the refused principal to an error about a missing permission, and the command that prints the needed ones.
func (c *Consumer) denied(err error) error {
	return kafka.NamedDenial(kafka.Principal(c.cfg.Kafka), "consumer topics acls", err)
}

// ending returns the error of a run: the engine's, unless it was stopped for another reason.
func (c *Consumer) ending(ctx, running context.Context, err error) error {
	if errors.Is(err, engine.ErrFenced) {
		return fmt.Errorf("%w; start each instance of group %s with its own name: --instance NAME", err, c.cfg.Source.Group)
	}
	cause := context.Cause(running)
	switch {
	case cause == nil || ctx.Err() != nil || err != nil && !errors.Is(err, context.Canceled):
		return err
	case errors.Is(cause, errPaused):
		state, _ := c.orders.paused()
		return &PausedError{state}
	default:
		return cause
	}
}

// listen opens the port of the metrics server.
func (c *Consumer) listen(ctx context.Context) (*telemetry.Server, error) {
	health := telemetry.Health{
		Live: func() string { return "" },
		Ready: func() string {
			_, why := c.engine.Ready()
			return cmp.Or(c.orders.ready(), why)
		},
	}
	server, err := telemetry.Listen(c.cfg.Metrics.Listen, c.registry, health)
	used, is := errors.AsType[*telemetry.PortError](err)
	if !is || !c.anyPort {
		return server, err
	}
	c.log.WarnContext(ctx, "the metrics port is in use, perhaps by another instance on this host; using a free port, which Prometheus does not scrape; set one with --metrics", "address", used.Address)
	host, _, err := net.SplitHostPort(c.cfg.Metrics.Listen)
	if err != nil {
		return nil, err
	}
	return telemetry.Listen(net.JoinHostPort(host, "0"), c.registry, health)
}

// serve starts the metrics server, if it is configured.
func (c *Consumer) serve(ctx context.Context) (stop func(), err error) {
	if c.cfg.Metrics.Listen == "" {
		return func() {}, nil
	}
	server, err := c.listen(ctx)
	if err != nil {
		return nil, err
	}
	c.log.InfoContext(ctx, "metrics served", "address", server.Address())
	// The server outlives ctx, so that the last figures are available while the consumer finishes.
	serving, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	wg.Go(func() { server.Run(serving, c.log) })
	return func() { cancel(); wg.Wait() }, nil
}

// openKeys loads the keys that prove replays: those of the environment, otherwise those of the control topic. If that
// has none, openKeys creates one before the first record is consumed, so that no replay comes before its key.
func (c *Consumer) openKeys(ctx context.Context, view control.View) error {
	switch {
	case len(c.given) > 0:
		c.keys.Set(c.given)
		return nil
	case len(view.Keys) > 0:
		c.keys.Set(view.Keys)
		return nil
	}
	keys, err := control.Keys(ctx, c.kafka, c.cfg.Topics.Control, c.now())
	if err != nil {
		return c.denied(err)
	}
	c.keys.Set(keys)
	return nil
}

// ordered applies the current content of the control topic. A key that was deleted there stays valid until a restart,
// unless there is another one: right after the start the view may not have the new key yet.
func (c *Consumer) ordered(ctx context.Context, view control.View) {
	if len(c.given) == 0 && len(view.Keys) > 0 {
		c.keys.Set(view.Keys)
	}
	c.orders.take(ctx, view)
}

// pendingInterval is the time between two counts of the pending dead letters.
const pendingInterval = 15 * time.Second

// pendingDeadLetters has the last count of the pending dead letters.
type pendingDeadLetters struct {
	last atomic.Pointer[deadletters.Count]
}

func (w *pendingDeadLetters) count() (c deadletters.Count, known bool) {
	last := w.last.Load()
	if last == nil {
		return c, false
	}
	return *last, true
}

// countPending counts the pending dead letters until the context ends. The pipeline does not depend on it: an error is
// logged if it differs from the previous count's.
func (c *Consumer) countPending(ctx context.Context) {
	client, err := kgo.NewClient(append(append([]kgo.Opt{}, c.kafka...), kgo.BrokerMaxReadBytes(kafka.MaxAnswer))...)
	if err != nil {
		c.log.WarnContext(ctx, "pending dead letters are not counted", "error", err)
		return
	}
	defer client.Close()
	counter, last := deadletters.NewCounter(client, c.cfg.Topics.DLQ, c.cfg.Topics.DLQStatus), ""
	for {
		count, err := counter.Read(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			c.waiting.last.Store(&count)
			last = ""
		case err.Error() != last:
			last = err.Error()
			c.log.WarnContext(ctx, "pending dead letters cannot be counted; trying again", "error", c.denied(err), "again_in", pendingInterval)
		}
		if kafka.Pause(ctx, pendingInterval) != nil {
			return
		}
	}
}
