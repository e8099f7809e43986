package demo

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/consumer"
)

// consumption is a consumer that runs beside the demo.
type consumption struct {
	consumer *consumer.Consumer
	stop     context.CancelFunc
	ended    chan struct{}
	err      error // valid once ended is closed
}

// errEnded is the cause of everything that stops because the consumer did.
var errEnded = errors.New("the consumer ended by itself")

// consume starts a consumer. The context that it returns ends when the consumer does.
func consume(ctx context.Context, consumer *consumer.Consumer) (context.Context, *consumption) {
	running, stop := context.WithCancel(ctx)
	tied, cancel := context.WithCancelCause(ctx)
	c := &consumption{consumer: consumer, stop: stop, ended: make(chan struct{})}
	go func() {
		c.err = consumer.Run(running)
		close(c.ended) // first, so that one who sees the context end finds the reason
		cancel(errEnded)
	}()
	return tied, c
}

// end lets the consumer finish what it is doing, commit, and leave the group. err is what went
// wrong beside it, if anything. A consumer that had ended by itself is the cause of that; one that
// is stopped because of it is not.
func (c *consumption) end(err error) error {
	select {
	case <-c.ended:
		return cmp.Or(c.err, err)
	default:
	}
	c.stop()
	<-c.ended
	if err == nil && !errors.Is(c.err, context.Canceled) { // stopped while it was still starting
		return c.err
	}
	return err
}

// untilDrained waits until all that lies in source and tiers is committed, and shows the progress meanwhile.
func (w *watch) untilDrained(ctx context.Context, adm *kadm.Client, cfg *config.Config, produce func(context.Context) error) error {
	shown, done := context.WithCancel(ctx)
	finished := make(chan struct{})
	go func() { defer close(finished); w.run(shown) }()
	defer func() { done(); <-finished }()
	if err := produce(ctx); err != nil {
		return err
	}
	return waitDrained(ctx, adm, cfg)
}

// watch draws the live progress of one pass.
type watch struct {
	display  *display
	every    time.Duration
	consumer *consumer.Consumer
	produced func() int64
	outage   func() time.Duration
	events   int
}

// run draws until the context ends, and then takes the drawing away.
func (w *watch) run(ctx context.Context) {
	defer w.display.clear()
	start, last, consumed := time.Now(), time.Now(), int64(0)
	for rate := 0.0; sleep(ctx, w.every) == nil; {
		now, progress := time.Now(), w.consumer.Progress()
		// Smoothed, because transactions come in bunches; the weight of the past halves every redraw.
		rate = (rate + float64(progress.Consumed-consumed)/now.Sub(last).Seconds()) / 2
		last, consumed = now, progress.Consumed
		w.display.show(frame{
			elapsed: now.Sub(start), now: now, produced: w.produced(), events: w.events,
			rate: rate, outage: w.outage(), progress: progress,
		}.lines())
	}
}
