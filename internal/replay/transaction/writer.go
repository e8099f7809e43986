package transaction

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/recordbatch"
	"github.com/switchback-geo/switchback/internal/replay/jobs"
	"github.com/switchback-geo/switchback/internal/replay/operation"
	"github.com/switchback-geo/switchback/internal/replay/states"
	"github.com/switchback-geo/switchback/internal/replay/statestore"
	"github.com/switchback-geo/switchback/internal/statedir"
)

const (
	unsentBytes = 800 << 10 // unacknowledged bytes of one partition; the default limit of a topic for one batch is slightly higher
	// denseBytes is the batch size from which a batch is compressed harder. By default a topic takes about a megabyte
	// of compressed bytes, and a record that came into the source topic in a zstd batch must fit again. Batches of
	// several records stay smaller (see unsentBytes).
	denseBytes = 960 << 10
	// largestRecord is the limit of the client; the limit of the topic applies.
	largestRecord = 64 << 20
	// usualTimeout is the time after which the broker aborts an open transaction of a replayer that is gone.
	usualTimeout = 10 * time.Second
	// abortTimeout bounds the abort of one transaction.
	abortTimeout = 5 * time.Second
	// writeTimeouts bounds one transaction in multiples of the timeout of the broker, also after the caller is canceled.
	writeTimeouts = 3
)

// ErrLost marks a transaction with an unknown end, because the broker did not answer in time. The next replayer
// settles it.
var ErrLost = errors.New("the broker was lost")

// Config is what a writer needs of the DLQ.
type Config struct {
	Store    *statestore.Store
	States   *states.Reader
	Source   string // source topic, whose replayers fence each other
	MaxValue int    // largest value that is read and written, in bytes
	Timeout  time.Duration
	Log      *slog.Logger
}

// NewConfig returns a configuration with the usual timeout.
func NewConfig(store *statestore.Store, reader *states.Reader, source string, maxValue int, log *slog.Logger) *Config {
	return &Config{Store: store, States: reader, Source: source, MaxValue: maxValue, Timeout: usualTimeout, Log: log}
}

// Writer is the only replayer that may write for a source topic, until another one starts.
type Writer struct {
	config  *Config
	client  *kgo.Client
	chains  *chains
	files   *statedir.Writer    // nil keeps states in topics
	written map[Partition]int64 // last offset written, committed or not

	undecided bool // the result of the last commit is unknown
}

// Start fences every earlier replayer of the source topic, ends its open transaction, and reads the status topic. The
// states that it returns stay current until this writer is fenced. Start waits for the lease first, and writes it.
func Start(ctx context.Context, c *Config, op *operation.Operation, l *jobs.Lease) (*Writer, *states.Table, error) {
	auditPartitions, err := c.Store.AuditPartitions(ctx)
	if err != nil {
		return nil, nil, err
	}
	if err := l.Await(ctx); err != nil {
		return nil, nil, err
	}
	id := deadletters.TransactionalID(c.Source)
	client, err := kgo.NewClient(append(slices.Clip(c.Store.Opts),
		kgo.TransactionalID(id),
		kgo.TransactionTimeout(c.Timeout),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchMaxBytes(int32(min(max(largestRecord, c.MaxValue+1<<20), 1<<30))),
		kgo.WithCompressor(recordbatch.NewCompressor(denseBytes)),
		kgo.ProducerLinger(0),
	)...)
	if err != nil {
		return nil, nil, fmt.Errorf("kafka client: %w", err)
	}
	if _, _, err := client.ProducerID(ctx); err != nil {
		client.Close()
		return nil, nil, fmt.Errorf("take over transactional id %s: %w", id, named(kafka.DeniedTransactionalID(id, err)))
	}
	w := &Writer{config: c, client: client, written: map[Partition]int64{}}
	st, err := w.takeOver(ctx, op, l)
	if err != nil {
		w.Close()
		return nil, nil, err
	}
	w.chains = &chains{
		topic: c.Store.Topics.Audit, statusTopic: c.Store.Topics.DLQStatus, partitions: auditPartitions,
		statusPartitions: int32(max(len(st.Ends), 1)), heads: maps.Clone(st.Heads),
	}
	return w, st, nil
}

// takeOver takes the lease, settles what the earlier replayer left open, and reads the states.
func (w *Writer) takeOver(ctx context.Context, op *operation.Operation, l *jobs.Lease) (*states.Table, error) {
	// The lease comes first, so that a fenced replayer that still holds the files learns who fenced it.
	if err := l.Take(ctx); err != nil {
		return nil, err
	}
	if err := w.openFiles(ctx); err != nil {
		return nil, err
	}
	own := op.ID
	if op.Word == string(control.JobReplay) {
		own = "" // a replay recognizes its own dead letters by their replay ID
	}
	return w.config.States.LoadDecided(ctx, op.Undoes, own)
}

// Close ends the writer. An open transaction is aborted by the broker or the next replayer.
func (w *Writer) Close() {
	w.client.Close()
	w.closeFiles()
}

// Undecided reports whether it is unknown whether the last commit took effect.
func (w *Writer) Undecided() bool { return w.undecided }

// AddOperationEvent makes the next commit write an event of the operation itself: its start, or its end.
func (w *Writer) AddOperationEvent(e *audit.Event) { w.chains.own = e }

// Commit writes a batch: records, states and audit events, or nothing. A batch without dead letters has the event of
// the operation only. If the source topic refuses a record for its size, Commit writes nothing and returns the dead
// letter.
func (w *Writer) Commit(ctx context.Context, batch []*Change) (refused *Change, err error) {
	e, err := w.encode(batch)
	if err != nil {
		return nil, err
	}
	refused, err = w.journaled(ctx, e, false)
	if err != nil || refused == nil {
		return nil, err
	}
	// Perhaps only the whole batch is too large. The batch is encoded again, since the client modifies records that
	// it has sent.
	if e, err = w.encode(e.changes); err != nil {
		return nil, err
	}
	return w.journaled(ctx, e, true)
}

// write commits a batch in one transaction. If separate is true, it sends each record in its own batch: only then is a
// refusal for size certain to concern that record.
//
// The transaction continues after ctx is canceled, within its own time limit: an abort would only waste its work.
func (w *Writer) write(ctx context.Context, e *encoded, separate bool) (refused *Change, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeouts*w.config.Timeout)
	defer cancel()
	began := time.Now()
	if err := w.client.BeginTransaction(); err != nil {
		return nil, fmt.Errorf("begin a replay transaction: %w", named(err))
	}
	refused, err = w.produce(ctx, e, separate)
	if err != nil || refused != nil {
		return refused, w.timedOut(w.abort(ctx, err), began)
	}
	if err := w.client.EndTransaction(ctx, kgo.TryCommit); err != nil {
		// The result is unknown. An abort could not revert a commit, but it would take the transactional ID back from
		// a replayer that has started meanwhile. The next replayer settles the transaction, or the broker after its
		// timeout.
		w.undecided = true
		return nil, w.timedOut(fmt.Errorf("commit a replay transaction: %w", named(kafka.DeniedTransactionalID(deadletters.TransactionalID(w.config.Source), err))), began)
	}
	return nil, nil
}

// timedOut distinguishes a transaction that the broker aborted for its age from one that another replayer fenced.
func (w *Writer) timedOut(err error, began time.Time) error {
	if errors.Is(err, jobs.ErrFenced) && time.Since(began) >= w.config.Timeout {
		return fmt.Errorf("%w for longer than a transaction may take (%s): %v", ErrLost, w.config.Timeout, err) //nolint:errorlint // it is not fenced
	}
	return err
}

// abort ends a transaction that must not be committed. Otherwise readers would wait until the next replayer starts or
// the broker aborts it after its timeout. A fenced replayer has no transaction to abort.
func (w *Writer) abort(ctx context.Context, cause error) error {
	if errors.Is(cause, jobs.ErrFenced) {
		return cause
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortTimeout)
	defer cancel()
	err := w.client.AbortBufferedRecords(ctx)
	if err == nil {
		err = w.client.EndTransaction(ctx, kgo.TryAbort)
	}
	if cause == nil && err != nil {
		return fmt.Errorf("abort a replay transaction: %w", named(err))
	}
	return cause
}

// produce sends the records of a batch and waits for the acknowledgments. It limits the unacknowledged bytes, so that
// the client builds no batch larger than a topic takes.
func (w *Writer) produce(ctx context.Context, e *encoded, separate bool) (*Change, error) {
	limit := unsentBytes
	if separate {
		limit = 0
	}
	f := newDelivery(deadletters.TransactionalID(w.config.Source), w.written)
	w.send(ctx, f, nil, e.own)
	for i := range e.changes {
		records, err := e.change(i)
		if err == nil {
			err = f.room(ctx, records, limit)
		}
		if err != nil {
			return f.end(err)
		}
		w.send(ctx, f, e.changes[i], records)
	}
	heads, err := e.heads()
	if err != nil {
		return f.end(err)
	}
	w.send(ctx, f, nil, heads)
	if err := w.client.Flush(ctx); err != nil {
		return f.end(fmt.Errorf("send a replay transaction: %w", err))
	}
	return f.end(nil)
}

func (w *Writer) send(ctx context.Context, f *delivery, change *Change, records []*kgo.Record) {
	f.sending(records)
	for _, r := range records {
		w.client.Produce(ctx, r, func(r *kgo.Record, err error) { f.note(change, r, err) })
	}
}

func sizeOf(r *kgo.Record) int {
	size := len(r.Key) + len(r.Value)
	for _, h := range r.Headers {
		size += len(h.Key) + len(h.Value)
	}
	return size
}

// named puts the meaning of a fencing error before the broker's text.
func named(err error) error {
	for _, fenced := range []error{kerr.ProducerFenced, kerr.InvalidProducerEpoch, kerr.InvalidProducerIDMapping, kerr.InvalidTxnState} {
		if errors.Is(err, fenced) {
			return fmt.Errorf("%w (or a transaction of this one took longer than %s); what it had committed stays; run the command again to continue: %w",
				jobs.ErrFenced, usualTimeout, err)
		}
	}
	return err
}
