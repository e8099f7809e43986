package consumer

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/kafka"
)

// pendingInterval is the time between two counts of the pending dead letters.
const pendingInterval = 15 * time.Second

// waitingLetters holds the last count of the dead letters that wait for a person.
type waitingLetters struct {
	last atomic.Pointer[deadletters.Count]
}

func (w *waitingLetters) count() (c deadletters.Count, known bool) {
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
			c.log.WarnContext(ctx, "pending dead letters cannot be counted; it is tried again", "error", c.denied(err), "again_in", pendingInterval)
		}
		if kafka.Pause(ctx, pendingInterval) != nil {
			return
		}
	}
}
