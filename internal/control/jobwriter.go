package control

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/kafka"
)

// PutJob writes a job, in place of the earlier record.
func (l *Leases) PutJob(ctx context.Context, j Job) error {
	value, err := j.encode()
	if err != nil {
		return fmt.Errorf("encode a job: %w", err)
	}
	if err := l.put(ctx, &kgo.Record{Key: []byte(jobPrefix + j.ID), Value: value}); err != nil {
		return fmt.Errorf("write a job to %s: %w", l.topic, err)
	}
	return nil
}

// PutJobOrder writes an order for a job.
func (l *Leases) PutJobOrder(ctx context.Context, id string, o JobOrder) error {
	o.By, o.At = clip(o.By), o.At.UTC()
	value, err := json.Marshal(jobOrderWire{version, o})
	if err != nil {
		return fmt.Errorf("encode an order for a job: %w", err)
	}
	if err := l.put(ctx, &kgo.Record{Key: []byte(jobOrderPrefix + id), Value: value}); err != nil {
		return fmt.Errorf("write an order for a job to %s: %w", l.topic, err)
	}
	return nil
}

// RemoveJobOrder removes the order for a job that has ended.
func (l *Leases) RemoveJobOrder(ctx context.Context, id string) error {
	return l.put(ctx, &kgo.Record{Key: []byte(jobOrderPrefix + id)})
}

// RemoveJobs removes jobs, with the orders for them.
func (l *Leases) RemoveJobs(ctx context.Context, ids []string) error {
	var records []*kgo.Record
	for _, id := range ids {
		records = append(records, &kgo.Record{Key: []byte(jobPrefix + id)}, &kgo.Record{Key: []byte(jobOrderPrefix + id)})
	}
	return l.put(ctx, records...)
}

// produce writes records and waits for them until ctx ends. A broker that does not answer may still get them later.
func produce(ctx context.Context, client *kgo.Client, topic string, records []*kgo.Record) error {
	written := make(chan error, len(records))
	for _, r := range records {
		r.Topic = topic
		// One canceled record would fail the others of its batch, so none is canceled.
		client.Produce(context.WithoutCancel(ctx), r, func(_ *kgo.Record, err error) { written <- err })
	}
	for range records {
		select {
		case err := <-written:
			if err != nil {
				return kafka.DeniedTopic("Write", topic, err)
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
