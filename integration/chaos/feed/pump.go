package feed

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Pump produces a maker's records to a topic at a rate. It retries until it is stopped, whatever happens to the broker.
type Pump struct {
	client *kgo.Client
	stop   context.CancelFunc
	done   chan struct{}
	sent   atomic.Int64
	failed atomic.Pointer[error]
}

// beat is the interval between two sends.
const beat = 20 * time.Millisecond

// Start starts a pump with a rate in records per second and a limit of records. Without a limit, the pump runs until it
// is stopped.
func Start(addrs []string, topic string, maker *Maker, rate, limit int) (*Pump, error) {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(addrs...), kgo.DefaultProduceTopic(topic), kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)),
		kgo.MaxBufferedRecords(1<<20), kgo.RetryTimeout(10*time.Minute), kgo.RequestRetries(1<<20), kgo.ProducerLinger(0),
	)
	if err != nil {
		return nil, fmt.Errorf("pump: %w", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	p := &Pump{client: client, stop: stop, done: make(chan struct{})}
	if limit <= 0 {
		limit = math.MaxInt
	}
	go p.run(ctx, maker, rate, limit)
	return p, nil
}

func (p *Pump) run(ctx context.Context, maker *Maker, rate, limit int) {
	defer close(p.done)
	tick := time.NewTicker(beat)
	defer tick.Stop()
	began, produced := time.Now(), 0
	for produced < limit {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for due := min(limit, int(time.Since(began).Seconds()*float64(rate))); produced < due; produced++ {
			p.client.Produce(context.Background(), maker.Next(), func(_ *kgo.Record, err error) {
				if err != nil {
					p.failed.Store(&err)
					return
				}
				p.sent.Add(1)
			})
		}
	}
}

// Sent returns the number of records that the broker has acknowledged.
func (p *Pump) Sent() int { return int(p.sent.Load()) }

// Stop stops the pump and returns when all its records are acknowledged. Further calls return the same result.
func (p *Pump) Stop(ctx context.Context) error {
	p.stop()
	<-p.done
	defer p.client.Close()
	if err := p.client.Flush(ctx); err != nil {
		return fmt.Errorf("pump: %d records acknowledged, then: %w", p.Sent(), err)
	}
	if err := p.failed.Load(); err != nil {
		return fmt.Errorf("pump: %d records acknowledged, then: %w", p.Sent(), *err)
	}
	return nil
}
