package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/kafka"
)

// chainPartition is the partition of the audit topic with the events of orders.
const chainPartition = 0

const (
	fencedTries = 10 // to write one order while others write theirs
	fencedPause = 50 * time.Millisecond
)

// chained writes in a transaction, after the latest event of the chain. A writer that another one fences has written
// nothing, and starts again after that writer's event.
func (w *Writer) chained(ctx context.Context, order *kgo.Record, e audit.Event, check func(View) error) error {
	for try := 1; ; try++ {
		err := w.once(ctx, order, e, check)
		if err == nil || !fenced(err) || try == fencedTries {
			return err
		}
		if err := kafka.Pause(ctx, time.Duration(try)*fencedPause); err != nil {
			return err
		}
	}
}

// once fences the other writers, reads the end of the chain, and writes. What it read stays true until another writer
// fences it, and then it cannot commit.
func (w *Writer) once(ctx context.Context, order *kgo.Record, e audit.Event, check func(View) error) error {
	client, err := kgo.NewClient(append(append([]kgo.Opt{}, w.kafka...), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.TransactionalID(w.transactionalID()), kgo.TransactionTimeout(w.cfg.Engine.TransactionTimeout.Std()))...)
	if err != nil {
		return fmt.Errorf("kafka client: %w", err)
	}
	defer client.Close()
	if _, _, err := client.ProducerID(ctx); err != nil {
		return fmt.Errorf("fence other writers: %w", kafka.DeniedTransactionalID(w.transactionalID(), err))
	}
	view, err := Read(ctx, w.kafka, w.cfg.Topics.Control)
	if err == nil && check != nil {
		err = check(view)
	}
	if err != nil {
		return err
	}
	event, next, err := e.Chained(audit.Orders, view.Head, w.cfg.Topics.Audit, chainPartition)
	if err != nil {
		return err
	}
	value, err := json.Marshal(next)
	if err != nil {
		return fmt.Errorf("encode the head of the chain: %w", err)
	}
	head := &kgo.Record{Topic: w.cfg.Topics.Control, Key: []byte(chainKey), Value: value}
	if err := client.BeginTransaction(); err != nil {
		return err
	}
	if err := w.produced(client.ProduceSync(ctx, present(event, head, fresh(order))...)); err != nil {
		// The transaction's own timeout ends it if this fails too.
		return errors.Join(err, client.EndTransaction(context.WithoutCancel(ctx), kgo.TryAbort))
	}
	return client.EndTransaction(ctx, kgo.TryCommit)
}

// fresh removes what an earlier try wrote into a record.
func fresh(order *kgo.Record) *kgo.Record {
	if order != nil {
		order.Offset, order.Partition = 0, 0
	}
	return order
}

// fenced reports whether another writer took over the transactional ID.
func fenced(err error) bool {
	for _, f := range []error{
		kerr.ProducerFenced, kerr.InvalidProducerEpoch, kerr.InvalidProducerIDMapping, kerr.InvalidTxnState, kerr.ConcurrentTransactions, kerr.TransactionAbortable,
	} {
		if errors.Is(err, f) {
			return true
		}
	}
	return false
}
