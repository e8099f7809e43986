package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/consumer"
	"github.com/switchback-geo/switchback/internal/kafka"
)

// pass is a consumer that runs during the demo.
type pass struct {
	consumer *consumer.Consumer
	stop     context.CancelFunc
	ended    chan struct{}
	err      error // valid once ended is closed
	took     time.Duration
}

// errEnded is the cause of a context that ends because the consumer did.
var errEnded = errors.New("the consumer ended on its own")

// source is where the events of a pass come from.
type source struct {
	events   int
	produced func() int64
	produce  func(context.Context) error
}

// pass runs a consumer of one of the two pipelines, and shows its progress, until everything in the source and the retry topics is
// committed. The consumer then still runs; the caller must end it.
func (p *play) pass(ctx context.Context, cfg *config.Config, from source) (*pass, error) {
	c, err := consumer.New(cfg, consumer.Options{Logger: p.log, RunID: p.runID, Instance: instance})
	if err != nil {
		return nil, err
	}
	work, stop := context.WithCancel(ctx)
	running, cancel := context.WithCancelCause(ctx)
	one := &pass{consumer: c, stop: stop, ended: make(chan struct{})}
	go func() {
		one.err = c.Run(work)
		close(one.ended) // before the context ends, because err is read after that
		cancel(errEnded)
	}()
	start := time.Now()
	if err := p.untilDrained(running, cfg, c, from); err != nil {
		return nil, one.end(err)
	}
	one.took = time.Since(start)
	return one, nil
}

// end lets the consumer finish what is in flight, commit and leave the group. It returns the consumer's error if the
// consumer ended on its own, and otherwise err, which stopped it.
func (p *pass) end(err error) error {
	select {
	case <-p.ended:
		return cmp.Or(p.err, err)
	default:
	}
	p.stop()
	<-p.ended
	if err == nil && !errors.Is(p.err, context.Canceled) { // stopped while it was still starting
		return p.err
	}
	return err
}

// untilDrained produces the events, waits until everything in the source and the retry topics is committed, and shows the progress
// meanwhile.
func (p *play) untilDrained(ctx context.Context, cfg *config.Config, c *consumer.Consumer, from source) error {
	shown, done := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { p.watch(shown, c, from) })
	defer watching.Wait()
	defer done()
	if err := from.produce(ctx); err != nil {
		return err
	}
	return waitDrained(ctx, kadm.NewClient(p.stage.client), cfg)
}

const (
	look = 200 * time.Millisecond // between two checks for an outage
	news = 4 * time.Second        // between two lines
)

// watch prints a line at intervals until the context ends, and when the outage begins and ends.
func (p *play) watch(ctx context.Context, c *consumer.Consumer, from source) {
	start, reported, down := time.Now(), time.Now(), false
	for kafka.Pause(ctx, look) == nil {
		f := frame{elapsed: time.Since(start), produced: from.produced(), events: from.events, outage: p.stage.places.OutageLeft(), progress: c.Progress()}
		if out := f.outage > 0; out != down {
			down = out
			fmt.Fprint(p.Stderr, f.announce())
		}
		if time.Since(reported) >= news {
			reported = time.Now()
			fmt.Fprintln(p.Stderr, f.line())
		}
	}
}

// frame is the progress at one moment.
type frame struct {
	elapsed  time.Duration
	produced int64
	events   int
	outage   time.Duration // how long the outage still lasts; 0: none
	progress consumer.Progress
}

// announce returns the lines about the begin or the end of the outage.
func (f frame) announce() string {
	if f.outage > 0 {
		return fmt.Sprintf("%s  OUTAGE: the place-name service answers 503 for %s.\n       Records that need it wait in a retry topic and are tried again.\n",
			f.clock(), brief(f.outage.Round(time.Second)))
	}
	return fmt.Sprintf("%s  The place-name service is back. Retries succeed as they fall due.\n", f.clock())
}

func (f frame) clock() string {
	return fmt.Sprintf("%02d:%02d", int(f.elapsed.Minutes()), int(f.elapsed.Seconds())%60)
}

// line returns the progress in one line.
func (f frame) line() string {
	p := f.progress
	if f.produced < int64(f.events) {
		return fmt.Sprintf("%s  %s of %s produced, %s delivered, %s waiting, %s dead letters", f.clock(), thousands(f.produced), thousands(int64(f.events)),
			thousands(p.Delivered), thousands(f.waiting()), thousands(p.DeadLettered))
	}
	next := ""
	if due := f.nextDue(); !due.IsZero() {
		next = ", retries under way"
		if left := time.Until(due).Round(time.Second); left > 0 {
			next = ", the next due in " + brief(left)
		}
	}
	return fmt.Sprintf("%s  %s delivered, %s dead letters, %s waiting%s", f.clock(), thousands(p.Delivered), thousands(p.DeadLettered), thousands(f.waiting()), next)
}

// waiting counts the records in the retry topics.
func (f frame) waiting() (n int64) {
	for _, tier := range f.progress.Tiers {
		n += tier.Waiting
	}
	return n
}

// nextDue returns when the next waiting record is due; zero if none waits.
func (f frame) nextDue() (next time.Time) {
	for _, tier := range f.progress.Tiers {
		if tier.Waiting > 0 && !tier.NextDue.IsZero() && (next.IsZero() || tier.NextDue.Before(next)) {
			next = tier.NextDue
		}
	}
	return next
}
