package demo

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/kafka"
)

// producer puts the events into the source topic at their pace.
type producer struct {
	client *kgo.Client
	topic  string
	pace   Pace
	events int
	count  atomic.Int64 // acknowledged so far
}

// run produces all events and returns when the broker has acknowledged every one.
func (p *producer) run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	start, i := time.Now(), 0
	for e, err := range events(p.events) {
		if err != nil {
			return err
		}
		if wait := time.Until(start.Add(p.pace.at(i, p.events))); wait > 0 {
			if kafka.Pause(ctx, wait) != nil {
				return context.Cause(ctx)
			}
		}
		p.client.Produce(ctx, &kgo.Record{Topic: p.topic, Key: []byte(e.key), Value: e.value}, func(_ *kgo.Record, err error) {
			if err != nil {
				cancel(fmt.Errorf("produce event %s: %w", e.key, err))
				return
			}
			p.count.Add(1)
		})
		i++
	}
	if err := p.client.Flush(ctx); err != nil {
		return fmt.Errorf("produce the last events: %w", context.Cause(ctx))
	}
	return context.Cause(ctx)
}
