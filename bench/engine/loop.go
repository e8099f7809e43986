package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// loop is a consumer that uses the client alone: poll, handle, produce, end the transaction. It has the engine's client
// settings, but no retries, no deduplication and no order beyond the partition's. The dressed loop also writes what the
// engine writes: the headers of every output, and one ledger record per transaction and partition with the hash of each
// key. It shows the cost of these records.
type loop struct {
	*spec
	session *kgo.GroupTransactSession
	handle  retrytopics.Handler
	meter   *meter
}

func runLoop(ctx context.Context, s *spec) (*report, error) {
	session, err := kgo.NewGroupTransactSession(
		kgo.SeedBrokers(s.Brokers...), kgo.ConsumerGroup(s.Run), kgo.ConsumeTopics(s.Source), kgo.TransactionalID(s.Run),
		kgo.ConcurrentTransactionsBackoff(2*time.Millisecond), kgo.ProducerLinger(5*time.Millisecond),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.FetchMaxWait(250*time.Millisecond),
		kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
	)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Kind, err)
	}
	defer session.Close()
	l := &loop{spec: s, session: session, handle: handler(s.output(), 0, 0), meter: newMeter(s.Events, func() {})}
	for !l.meter.done() {
		if err := l.turn(ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", s.Kind, err)
		}
	}
	return l.meter.report(), nil
}

func (l *loop) turn(ctx context.Context) error {
	fetches := l.session.PollRecords(ctx, l.Batch)
	if err := errors.Join(fetches.Err(), ctx.Err()); err != nil {
		return err
	}
	if fetches.NumRecords() == 0 {
		return nil
	}
	began := time.Now()
	if err := l.session.Begin(); err != nil {
		return err
	}
	var failure error
	ledger := map[int32][]idempotency.Change{}
	fetches.EachRecord(func(raw *kgo.Record) {
		result, err := l.handle(ctx, &retrytopics.Record{Key: raw.Key, Value: raw.Value, Headers: raw.Headers, Attempt: 1})
		if err != nil {
			failure = err
		}
		for _, out := range result.Outputs {
			if l.Kind == dressed {
				ledger[raw.Partition] = append(ledger[raw.Partition], dress(out, raw, &result.Identity))
			}
			l.session.Produce(ctx, out, nil) // End aborts if one of them fails
		}
	})
	if failure != nil {
		return failure
	}
	for partition, changes := range ledger {
		l.session.Produce(ctx, &kgo.Record{Topic: l.ledger(), Partition: partition, Value: idempotency.AppendChanges(nil, changes)}, nil)
	}
	committed, err := l.session.End(ctx, kgo.TryCommit)
	if err != nil {
		return err
	}
	l.meter.transaction(time.Since(began), committed)
	if committed {
		l.meter.plain(fetches.NumRecords())
	}
	return nil
}

// dress adds the engine's headers to an output, and returns its entry in the ledger.
func dress(out, raw *kgo.Record, id *retrytopics.Identity) idempotency.Change {
	out.Headers = header.Control{
		Source: header.Position{Topic: raw.Topic, Partition: raw.Partition, Offset: raw.Offset}, HasSource: true,
		ContentHash: id.ContentHash, FeatureID: id.FeatureID,
	}.AppendTo(out.Headers)
	content, _ := idempotency.ContentOf(id.ContentHash)
	return idempotency.Change{
		Key:     idempotency.HashKey(raw.Key),
		Applied: idempotency.Applied{Content: content, Offset: raw.Offset, At: raw.Timestamp.Truncate(time.Second)},
	}
}
