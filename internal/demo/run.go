package demo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/switchback-geo/switchback/internal/consumer"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/devbroker"
	"github.com/switchback-geo/switchback/internal/dlqindex"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/replay"
	"github.com/switchback-geo/switchback/internal/replay/operation"
)

// instance is the demo's consumer in its transactional ID. Another consumer of the demo's pipeline file has the name of the host, so the two
// do not fence each other.
const instance = "demo"

// ErrInterrupted reports that the context ended before the story did. It wraps the context's cause.
var ErrInterrupted = errors.New("the demo was interrupted")

// Run plays the demo. It returns nil at the end of the story, and also when the context ends after it. The error is ErrInterrupted if the
// context ends before, ErrNotProven if verify does not find every record in one place, a *devbroker.PortError if a port is taken, and a
// *devbroker.RealBrokersError if real brokers are configured.
func Run(ctx context.Context, o Options) error {
	o = o.withDefaults()
	if o.Events < 0 {
		return fmt.Errorf("%d events cannot be produced; ask for one or more", o.Events)
	}
	fmt.Fprint(o.Stderr, devbroker.Banner)
	stage, err := build(ctx, o)
	if err == nil {
		err = errors.Join(newPlay(o, stage).run(ctx), stage.close())
	}
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("%w: %w", ErrInterrupted, context.Cause(ctx))
	}
	return err
}

// play is one run of the story.
type play struct {
	Options
	stage *stage
	log   *slog.Logger
	runID string

	retried  int64 // in both passes
	dead     []deadletters.Group
	replayed replay.Result
}

func newPlay(o Options, s *stage) *play {
	return &play{
		Options: o, stage: s, runID: consumer.NewRunID(),
		log: slog.New(slog.NewTextHandler(o.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
	}
}

// run plays the three acts.
func (p *play) run(ctx context.Context) error {
	for _, act := range []func(context.Context) error{p.first, p.fix, p.second} {
		if err := act(ctx); err != nil {
			return err
		}
	}
	return nil
}

// pause gives the user of a terminal time to read.
func (p *play) pause(ctx context.Context, next string) error {
	if !p.Terminal {
		return nil
	}
	fmt.Fprintf(p.Stderr, "\n%s follows in %s.\n", next, brief(p.Story.Pause))
	if kafka.Pause(ctx, p.Story.Pause) != nil {
		return context.Cause(ctx)
	}
	return nil
}

// first produces the events and consumes them with the pipeline that rejects invalid geometries.
func (p *play) first(ctx context.Context) error {
	cfg := p.stage.settings.before
	fmt.Fprintf(p.Stderr, "\nBroker on %s, topic %s.\nPlace-name service on %s.\nDead letters in a browser: http://%s/\n%s events are on their way.\n",
		p.stage.broker.Addr(), cfg.Source.Topic, p.stage.places.addr, p.stage.console, thousands(p.Events))
	events := &producer{client: p.stage.client, topic: cfg.Source.Topic, pace: p.Story.Pace, events: p.Events}
	one, err := p.pass(ctx, cfg, source{p.Events, events.count.Load, events.run})
	if err == nil {
		err = one.end(nil)
	}
	if err != nil {
		return err
	}
	return p.showFirst(ctx, one.consumer.Progress(), one.took)
}

func (p *play) showFirst(ctx context.Context, progress consumer.Progress, took time.Duration) error {
	cfg := p.stage.settings.before
	books, err := p.verify(ctx, cfg)
	if err != nil {
		return err
	}
	if p.dead, err = causes(ctx, p.stage.client, cfg.Topics.DLQ); err != nil {
		return err
	}
	shown, err := samples(ctx, p.stage.client, cfg.Output.Topic)
	if err != nil {
		return err
	}
	p.retried += progress.Retried
	fmt.Fprint(p.Stdout, first(p.stage.settings, took, books, progress, p.stage.places.Counts(), p.dead, shown))
	return p.proven(books)
}

// actor is the operator's name in the demo.
const actor = "consumer demo"

// fix does the operator's work: the corrected mapping, a dry run, and the replay of the dead letters that would pass.
func (p *play) fix(ctx context.Context) error {
	if err := p.pause(ctx, "The fix"); err != nil {
		return err
	}
	service, err := replay.New(p.stage.settings.after, replay.Options{Logger: p.log, Index: dlqindex.Options{Place: dlqindex.InMemory}})
	if err != nil {
		return err
	}
	defer service.Close()
	plan, err := service.Plan(ctx, deadletters.Filter{}, replay.PlanOptions{By: actor})
	if err != nil {
		return err
	}
	fmt.Fprint(p.Stdout, dryRun(plan.Summary(), plan.Outlook()))
	if err := p.pause(ctx, "The replay"); err != nil {
		return err
	}
	p.replayed, err = service.Execute(ctx, plan, replay.ExecuteOptions{
		Call: operation.Call{By: actor, Reason: "invalid geometries are flagged now instead of rejected"},
	})
	return err
}

// second consumes the replayed dead letters with the corrected pipeline, and stays unless Exit is set.
func (p *play) second(ctx context.Context) error {
	replayed := source{
		p.replayed.Reinjected, func() int64 { return int64(p.replayed.Reinjected) }, func(context.Context) error { return nil },
	}
	one, err := p.pass(ctx, p.stage.settings.after, replayed)
	if err != nil {
		return err
	}
	err = p.showSecond(ctx, one)
	if err == nil && !p.Exit {
		fmt.Fprint(p.Stdout, p.hints())
		select {
		case <-ctx.Done():
		case <-one.ended:
		}
	}
	return one.end(err)
}

func (p *play) showSecond(ctx context.Context, one *pass) error {
	books, err := p.verify(ctx, p.stage.settings.after)
	if err != nil {
		return err
	}
	p.retried += one.consumer.Progress().Retried
	fmt.Fprint(p.Stdout, second(p.stage.settings, one.took, books, p.replayed))
	if err := p.proven(books); err != nil {
		return err
	}
	if err := p.pause(ctx, "The summary"); err != nil {
		return err
	}
	fmt.Fprint(p.Stdout, story(int64(p.Events), p.Story.Script.OutageFor, p.retried, p.dead, p.replayed, books))
	return nil
}

// hints lists ways to explore while everything still runs.
func (p *play) hints() string {
	text := fmt.Sprintf(`
Everything is still there. In a browser: http://%[4]s/
In another terminal, in the folder of the source:

  go run ./cmd/replayer groups -c %[2]s
  go run ./cmd/replayer list -c %[2]s
  kcat -b %[1]s -C -t %[3]s -o beginning -e -f '%%k %%h\n'
`, p.stage.broker.Addr(), p.stage.settings.file, p.stage.settings.after.Topics.DLQ, p.stage.console)
	if p.MetricsListen != "" {
		text += fmt.Sprintf("  curl http://%s/metrics\n", p.MetricsListen)
	}
	return text + "\nA consumer with the corrected pipeline keeps running. Ctrl-C ends the demo.\n"
}
