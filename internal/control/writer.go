package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/kafka"
)

// Writer writes orders, each with its audit event. Orders are rare, so each has a client of its own: an open
// transactional producer would have to be kept alive for months.
type Writer struct {
	cfg   *config.Config
	kafka []kgo.Opt
}

// NewWriter returns a writer. All writers of a pipeline share the transactional ID `<group>-control`.
func NewWriter(cfg *config.Config, kafka []kgo.Opt) *Writer {
	return &Writer{cfg: cfg, kafka: kafka}
}

// Pipeline writes an order for the pipeline and returns its offset in the control topic.
func (w *Writer) Pipeline(ctx context.Context, s State) (int64, error) {
	return w.pipeline(ctx, s, nil)
}

func (w *Writer) pipeline(ctx context.Context, s State, check func(View) error) (int64, error) {
	order, err := PipelineRecord(w.cfg.Topics.Control, s)
	if err != nil {
		return 0, err
	}
	decision := audit.StateChanged
	if s.IsPaused() {
		decision = audit.Paused
	}
	message := fmt.Sprintf("pipeline %s by %s", s.Phase, s.By)
	if !s.GatesOff.IsZero() {
		message += ", rate gates off until " + s.GatesOff.UTC().Format(time.RFC3339)
	}
	return w.write(ctx, order, w.event(decision, s, message), check)
}

// OvertakenError means that a gate's order was not written, because there is a later order that the gate had not
// seen.
type OvertakenError struct {
	Batch string // of the order; "" for the pipeline
	View  View   // the content of the topic
}

func (e *OvertakenError) Error() string {
	if e.Batch == "" {
		return fmt.Sprintf("the pipeline was ordered to be %s by %s meanwhile", e.View.Pipeline.Phase, e.View.Pipeline.By)
	}
	if now, yes := e.View.Batches[e.Batch]; yes {
		return fmt.Sprintf("batch %s was %s by %s meanwhile", e.Batch, now.Phase, now.By)
	}
	return fmt.Sprintf("batch %s was let through meanwhile", e.Batch)
}

// PauseSince writes the order of a gate that has read the topic up to the offset known. If there was a later order
// for the pipeline, it returns an OvertakenError instead. If another instance has paused the pipeline, no second
// order is needed, and a failure from before a resume must not pause it again. Without transactions, an order may
// come in between.
func (w *Writer) PauseSince(ctx context.Context, s State, known int64) (int64, error) {
	return w.pipeline(ctx, s, func(v View) error {
		if v.Ordered >= known {
			return &OvertakenError{View: v}
		}
		return nil
	})
}

// Batch quarantines a batch, or ends its quarantine if s is not Quarantined.
func (w *Writer) Batch(ctx context.Context, id string, s State) (int64, error) {
	return w.batch(ctx, id, s, nil)
}

// QuarantineSince is [Writer.PauseSince] for a batch.
func (w *Writer) QuarantineSince(ctx context.Context, id string, s State, known int64) (int64, error) {
	return w.batch(ctx, id, s, func(v View) error {
		if at, ordered := v.orderedB[id]; ordered && at >= known {
			return &OvertakenError{Batch: id, View: v}
		}
		return nil
	})
}

func (w *Writer) batch(ctx context.Context, id string, s State, check func(View) error) (int64, error) {
	order, err := BatchRecord(w.cfg.Topics.Control, id, s)
	if err != nil {
		return 0, err
	}
	return w.write(ctx, order, w.event(audit.StateChanged, s, fmt.Sprintf("batch %s %s by %s", id, s.Phase, s.By)), check)
}

// Report writes an audit event about what an instance, s.By, had delivered of a batch that is now quarantined.
func (w *Writer) Report(ctx context.Context, id string, s State, delivered int64) error {
	message := fmt.Sprintf("batch %s is quarantined; %s had delivered %d of its records since it started: they are in %s, with the header batch-id",
		id, s.By, delivered, w.cfg.Output.Topic)
	_, err := w.write(ctx, nil, w.event(audit.StateChanged, s, message), nil)
	return err
}

func (w *Writer) event(d audit.Decision, s State, message string) audit.Event {
	return audit.Event{
		Time: s.At, Pipeline: w.cfg.Pipeline.ID, RunID: s.RunID, Decision: d, Reason: s.Reason, Code: string(s.Code),
		Destination: w.cfg.Topics.Control, Message: message, By: s.By, Key: []byte(w.cfg.Pipeline.ID),
	}
}

// write produces the order, if there is one, and its event. With transactions, it writes both or neither. check can
// refuse the order, given the current content of the topic; a nil check accepts every order.
func (w *Writer) write(ctx context.Context, order *kgo.Record, e audit.Event, check func(View) error) (int64, error) {
	write := w.plainly
	if w.cfg.Delivery == config.DeliveryExactlyOnce {
		write = w.chained
	}
	if err := write(ctx, order, e, check); err != nil {
		return 0, fmt.Errorf("write to %s and %s: %w", w.cfg.Topics.Control, w.cfg.Topics.Audit, err)
	}
	if order == nil {
		return 0, nil
	}
	return order.Offset, nil
}

// plainly writes without a transaction. Nothing separates two writers then, so the event has no place in the hash chain.
func (w *Writer) plainly(ctx context.Context, order *kgo.Record, e audit.Event, check func(View) error) error {
	if check != nil {
		view, err := Read(ctx, w.kafka, w.cfg.Topics.Control)
		if err == nil {
			err = check(view)
		}
		if err != nil {
			return err
		}
	}
	client, err := connect(w.kafka)
	if err != nil {
		return err
	}
	defer client.Close()
	event, err := e.Record(w.cfg.Topics.Audit, chainPartition)
	if err != nil {
		return err
	}
	return w.produced(client.ProduceSync(ctx, present(event, order)...))
}

// connect returns a client that writes each record into the partition that it names.
func connect(options []kgo.Opt, more ...kgo.Opt) (*kgo.Client, error) {
	client, err := kgo.NewClient(slices.Concat(options, []kgo.Opt{kgo.RecordPartitioner(kgo.ManualPartitioner())}, more)...)
	if err != nil {
		return nil, fmt.Errorf("kafka client: %w", err)
	}
	return client, nil
}

// TransactionalID returns the transactional ID for orders and notes.
func TransactionalID(c *config.Config) string { return c.Source.Group + "-control" }

func (w *Writer) transactionalID() string { return TransactionalID(w.cfg) }

// produced returns the first error, with the topic that was refused.
func (w *Writer) produced(results kgo.ProduceResults) error {
	for _, result := range results {
		if result.Err != nil {
			return kafka.DeniedProduce(w.transactionalID(), result.Record.Topic, result.Err)
		}
	}
	return nil
}

func present(records ...*kgo.Record) []*kgo.Record {
	return slices.DeleteFunc(records, func(r *kgo.Record) bool { return r == nil })
}

// chainPartition is the partition of the audit topic with the events of orders.
const chainPartition = 0

const (
	fencedTries = 10 // to write one order while others write theirs
	fencedPause = 50 * time.Millisecond
)

// chained writes in a transaction, after the latest event of the chain. A writer that was fenced by another one has
// written nothing, and starts again after that writer's event.
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

// once fences the other writers, reads the end of the chain, and writes. The end stays valid until another writer fences
// this one, which then cannot commit.
func (w *Writer) once(ctx context.Context, order *kgo.Record, e audit.Event, check func(View) error) error {
	client, err := connect(w.kafka, kgo.TransactionalID(w.transactionalID()), kgo.TransactionTimeout(w.cfg.Engine.TransactionTimeout.Std()))
	if err != nil {
		return err
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

// fresh clears the fields that an earlier attempt set in a record.
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
