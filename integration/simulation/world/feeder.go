package world

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/integration/simulation/plan"
)

// feed sends the events of the plan one after another. It sends an unacknowledged event again, so an event may occur
// twice; each occurrence counts as an event.
func (w *World) feed(ctx context.Context) {
	defer close(w.fed)
	client := w.feeder()
	defer func() { client.Close() }()
	for _, e := range w.events {
		if !w.Plan.Load.Sends(e.Number) {
			continue
		}
		if client = w.sendEvent(ctx, client, e); ctx.Err() != nil {
			return
		}
		if !wait(ctx, e.Pause) {
			return
		}
	}
}

// sendEvent sends one event until it is acknowledged, within one epoch. It returns the client for the next one.
func (w *World) sendEvent(ctx context.Context, client *kgo.Client, e plan.Event) *kgo.Client {
	w.writes <- struct{}{}
	defer func() { <-w.writes }()
	r := record(e, w.Plan.Load.Pad)
	if epoch := w.Epoch(); epoch > 0 {
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: headerEpoch, Value: fmt.Append(nil, epoch)})
	}
	for client.ProduceSync(ctx, r).FirstErr() != nil && wait(ctx, 100*time.Millisecond) {
		client.Close() // a client that was refused a producer ID never gets another one
		client = w.feeder()
		r = &kgo.Record{Topic: r.Topic, Key: r.Key, Value: r.Value, Headers: r.Headers}
	}
	return client
}

func (w *World) feeder() *kgo.Client {
	client, err := w.Kafka.client(kgo.RecordDeliveryTimeout(20*time.Second), kgo.ProducerLinger(0))
	if err != nil {
		panic(err) // the options contradict each other
	}
	return client
}

// record returns the source record of an event.
func record(e plan.Event, pad int) *kgo.Record {
	r := &kgo.Record{Topic: Source, Headers: []kgo.RecordHeader{{Key: headerNumber, Value: fmt.Append(nil, e.Number)}}}
	if e.Key != "" {
		r.Key = []byte(e.Key)
	}
	if !e.Delete {
		r.Value = fmt.Appendf(nil, `{"content":%d,"pad":"%s"}`, e.Content, strings.Repeat("x", pad))
	}
	return r
}
