package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// runBare is the loop that one writes with the client alone: poll, handle, produce, end the transaction. It has the
// engine's client settings and no retries, no order beyond the partition's, no dedupe, no headers.
func runBare(ctx context.Context, s *spec) (*report, error) {
	session, err := kgo.NewGroupTransactSession(
		kgo.SeedBrokers(s.Brokers...), kgo.ConsumerGroup(s.Run), kgo.ConsumeTopics(s.Source), kgo.TransactionalID(s.Run),
		kgo.ConcurrentTransactionsBackoff(2*time.Millisecond), kgo.ProducerLinger(5*time.Millisecond),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.FetchMaxWait(250*time.Millisecond),
		kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
	)
	if err != nil {
		return nil, fmt.Errorf("bare loop: %w", err)
	}
	defer session.Close()
	handle := handler(s.output(), 0)
	m := newMeter(s.Events, func() {})
	for !m.done() {
		if err := bareTurn(ctx, session, s.Batch, handle, m); err != nil {
			return nil, fmt.Errorf("bare loop: %w", err)
		}
	}
	return m.report(), nil
}

func bareTurn(ctx context.Context, session *kgo.GroupTransactSession, batch int, handle retrytopics.Handler, m *meter) error {
	fetches := session.PollRecords(ctx, batch)
	if err := errors.Join(fetches.Err(), ctx.Err()); err != nil {
		return err
	}
	if fetches.NumRecords() == 0 {
		return nil
	}
	if err := session.Begin(); err != nil {
		return err
	}
	var failure error
	fetches.EachRecord(func(raw *kgo.Record) {
		result, err := handle(ctx, &retrytopics.Record{Key: raw.Key, Value: raw.Value, Headers: raw.Headers, Attempt: 1})
		if err != nil {
			failure = err
		}
		for _, out := range result.Outputs {
			session.Produce(ctx, out, nil) // End aborts when one of them fails
		}
	})
	if failure != nil {
		return failure
	}
	committed, err := session.End(ctx, kgo.TryCommit)
	if err != nil {
		return err
	}
	m.transaction(committed)
	if committed {
		m.plain(fetches.NumRecords())
	}
	return nil
}
