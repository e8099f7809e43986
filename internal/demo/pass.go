package demo

import (
	"cmp"
	"context"
	"errors"

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

// errEnded is the cause of a context that ends because the consumer did.
var errEnded = errors.New("the consumer ended by itself")

// consume starts a consumer. The returned context ends when the consumer does.
func consume(ctx context.Context, consumer *consumer.Consumer) (context.Context, *consumption) {
	running, stop := context.WithCancel(ctx)
	tied, cancel := context.WithCancelCause(ctx)
	c := &consumption{consumer: consumer, stop: stop, ended: make(chan struct{})}
	go func() {
		c.err = consumer.Run(running)
		close(c.ended) // first: who sees the context end reads err
		cancel(errEnded)
	}()
	return tied, c
}

// end lets the consumer finish what is in flight, commit and leave the group. It returns the consumer's error if the consumer had ended by
// itself, or else err, which stopped it.
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

// untilDrained runs produce, waits until everything in the source and the retry topics is committed, and shows the progress meanwhile.
func (w *watch) untilDrained(ctx context.Context, admin *kadm.Client, cfg *config.Config, produce func(context.Context) error) error {
	shown, done := context.WithCancel(ctx)
	finished := make(chan struct{})
	go func() { defer close(finished); w.run(shown) }()
	defer func() { done(); <-finished }()
	if err := produce(ctx); err != nil {
		return err
	}
	return waitDrained(ctx, admin, cfg)
}
