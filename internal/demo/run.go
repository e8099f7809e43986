package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/consumer"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/devbroker"
	"github.com/switchback-geo/switchback/internal/dlqindex"
	"github.com/switchback-geo/switchback/internal/replay"
)

// instance names the demo's consumer in its transactional id. Another consumer that runs with the
// demo's pipeline file is named after the host and does not get in its way.
const instance = "demo"

// The ways in which the story can go wrong by itself.
var (
	// ErrUnbalanced says that the topics do not account for every record exactly once.
	ErrUnbalanced = errors.New("the books do not balance")
	// ErrInterrupted says that the context ended before the story did. It wraps the context's cause.
	ErrInterrupted = errors.New("the demo was interrupted")
)

// Run plays the demo. It returns nil at the end of the story, and also when the context ends after
// it. The error is ErrInterrupted when the context ends before, ErrUnbalanced when a record was
// lost or doubled, a *devbroker.PortError when a port is taken, and a *devbroker.RealBrokersError
// when real brokers are configured.
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
	stage   *stage
	display *display
	log     *slog.Logger
	runID   string
	began   time.Time

	retried  int64 // over both passes
	replayed replay.Result
}

func newPlay(o Options, s *stage) *play {
	d := &display{out: o.Stderr, terminal: o.Terminal}
	return &play{
		Options: o, stage: s, display: d, began: time.Now(), runID: consumer.NewRunID(),
		log: slog.New(slog.NewTextHandler(d, &slog.HandlerOptions{Level: slog.LevelError})),
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

// consumer makes a consumer of one of the two pipelines.
func (p *play) consumer(cfg *config.Config) (*consumer.Consumer, error) {
	return consumer.New(cfg, consumer.Options{Logger: p.log, RunID: p.runID, Instance: instance})
}

// watch shows the progress of a consumer.
func (p *play) watch(c *consumer.Consumer, produced func() int64, events int) *watch {
	every := 5 * time.Second
	if p.Terminal {
		every = 200 * time.Millisecond
	}
	return &watch{display: p.display, every: every, consumer: c, produced: produced, outage: p.stage.places.OutageLeft, events: events}
}

// first produces the events and consumes them with the pipeline that rejects invalid geometries.
func (p *play) first(ctx context.Context) error {
	cfg := p.stage.settings.before
	fmt.Fprintf(p.Stderr, "\nBroker on %s, topic %s; place-name service on %s. %s events are on their way.\n",
		p.stage.broker.Addr(), cfg.Source.Topic, p.stage.places.Addr(), thousands(p.Events))
	consumer, err := p.consumer(cfg)
	if err != nil {
		return err
	}
	start := time.Now()
	tied, c := consume(ctx, consumer)
	events := &producer{client: p.stage.client, topic: cfg.Source.Topic, pace: p.Story.Pace, events: p.Events}
	err = p.watch(consumer, events.count.Load, p.Events).untilDrained(tied, kadm.NewClient(p.stage.client), cfg, events.run)
	if err := c.end(err); err != nil {
		return err
	}
	return p.showFirst(ctx, consumer.Progress(), time.Since(start))
}

func (p *play) showFirst(ctx context.Context, progress consumer.Progress, took time.Duration) error {
	cfg := p.stage.settings.before
	tally, err := count(ctx, p.stage.client, cfg)
	if err != nil {
		return err
	}
	groups, err := causes(ctx, p.stage.client, cfg.Topics.DLQ)
	if err != nil {
		return err
	}
	p.retried += progress.Retried
	fmt.Fprint(p.report(), firstScreen{
		topics: cfg.Topics, source: cfg.Source.Topic, output: cfg.Output.Topic, tally: tally,
		tiers: progress.Tiers, groups: groups, replies: p.stage.places.Counts(), took: took,
	})
	return balanced(tally.balance)
}

// fix does the operator's work: the fixed mapping, a dry run, and the replay of what would pass.
func (p *play) fix(ctx context.Context) error {
	service, err := p.replayer(p.stage.settings.after)
	if err != nil {
		return err
	}
	defer service.Close()
	plan, err := service.Plan(ctx, deadletters.Filter{}, replay.PlanOptions{By: actor})
	if err != nil {
		return err
	}
	fmt.Fprint(p.report(), dryRun(plan.Summary(), plan.Outlook()))
	p.replayed, err = service.Execute(ctx, plan, replay.ExecuteOptions{
		Call: replay.Call{By: actor, Reason: "invalid geometries are flagged now instead of rejected"},
	})
	return err
}

// actor is who acts in the demo.
const actor = "consumer demo"

func (p *play) replayer(cfg *config.Config) (*replay.Service, error) {
	return replay.New(cfg, replay.Options{Logger: p.log, Index: dlqindex.Options{Place: dlqindex.InMemory}})
}

// second consumes the replayed letters with the fixed pipeline, and stays when it is asked to.
func (p *play) second(ctx context.Context) error {
	cfg := p.stage.settings.after
	consumer, err := p.consumer(cfg)
	if err != nil {
		return err
	}
	start := time.Now()
	tied, c := consume(ctx, consumer)
	nothing := func(context.Context) error { return nil }
	produced := func() int64 { return int64(p.replayed.Reinjected) }
	err = p.watch(consumer, produced, p.replayed.Reinjected).untilDrained(tied, kadm.NewClient(p.stage.client), cfg, nothing)
	if err != nil || p.Exit {
		if err := c.end(err); err != nil {
			return err
		}
		return p.showSecond(ctx, consumer, time.Since(start))
	}
	if err := p.showSecond(ctx, consumer, time.Since(start)); err != nil {
		return c.end(err)
	}
	fmt.Fprint(p.report(), p.hints())
	<-tied.Done()
	return c.end(nil)
}

func (p *play) showSecond(ctx context.Context, consumer *consumer.Consumer, took time.Duration) error {
	cfg := p.stage.settings.after
	tally, err := count(ctx, p.stage.client, cfg)
	if err != nil {
		return err
	}
	letters, err := statuses(ctx, p.stage.client, cfg.Topics)
	if err != nil {
		return err
	}
	p.retried += consumer.Progress().Retried
	fmt.Fprint(p.report(), secondScreen{
		topics: cfg.Topics, source: cfg.Source.Topic, output: cfg.Output.Topic,
		balance: tally.balance, result: p.replayed, letters: letters, took: took,
	})
	return errors.Join(p.summarise(ctx, tally.balance), balanced(tally.balance), p.verify(ctx))
}

// summarise writes the JSON object over both passes. Its counts come from the topics.
func (p *play) summarise(ctx context.Context, b Balance) error {
	if p.Summary == nil {
		return nil
	}
	checkpoint, err := p.checkpoint(ctx)
	if err != nil {
		return err
	}
	s := consumer.Summary{
		RunID: p.runID, Pipeline: p.stage.settings.after.Pipeline.ID, Status: consumer.StatusCompleted,
		Consumed: b.Consumed, Delivered: b.Delivered, Retried: p.retried, DeadLettered: b.DeadLettered,
		Duplicates: b.Duplicates, Superseded: b.Superseded, Filtered: b.Filtered, Waiting: b.Waiting,
		Checkpoint: checkpoint, DurationSeconds: time.Since(p.began).Seconds(),
	}
	if !b.Holds() {
		s.Status = consumer.StatusFailed
	}
	if b.Consumed > 0 {
		s.DLQRate = float64(b.DeadLettered) / float64(b.Consumed)
	}
	encoder := json.NewEncoder(p.Summary)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(s); err != nil {
		return fmt.Errorf("write the summary: %w", err)
	}
	return nil
}

// checkpoint is what the group has committed of the source topic, by partition.
func (p *play) checkpoint(ctx context.Context) (map[string]int64, error) {
	source := p.stage.settings.after.Source
	offsets, err := commits(ctx, kadm.NewClient(p.stage.client), source.Group)
	if err != nil {
		return nil, err
	}
	at := map[string]int64{}
	for partition, o := range offsets[source.Topic] {
		at[strconv.Itoa(int(partition))] = o.At
	}
	return at, nil
}

// balanced makes an error of a balance that does not hold.
func balanced(b Balance) error {
	if b.Holds() {
		return nil
	}
	return fmt.Errorf("%w: %d lost, %d doubled, %d waiting of %d consumed", ErrUnbalanced, b.Lost, b.Doubled, b.Waiting, b.Consumed)
}

// hints says how to look around while everything is still there.
func (p *play) hints() string {
	broker, file := p.stage.broker.Addr(), p.stage.settings.file
	text := fmt.Sprintf(`
Everything is still there. In another terminal, in the folder of the source (or with the built replayer):
  go run ./cmd/replayer groups -c %[2]s
  go run ./cmd/replayer list -c %[2]s
  kcat -b %[1]s -L
  kcat -b %[1]s -C -t %[3]s -o beginning -e -f '%%k %%h\n'
`, broker, file, p.stage.settings.after.Topics.DLQ)
	if p.MetricsListen != "" {
		text += fmt.Sprintf("  curl http://%s/metrics\n", p.MetricsListen)
	}
	return text + "A consumer with the fixed pipeline keeps running. Ctrl-C ends the demo.\n"
}
