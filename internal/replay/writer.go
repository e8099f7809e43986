package replay

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/recordbatch"
	"github.com/switchback-geo/switchback/internal/replay/jobs"
	"github.com/switchback-geo/switchback/internal/replay/operation"
	"github.com/switchback-geo/switchback/internal/replay/states"
	"github.com/switchback-geo/switchback/internal/statedir"
)

const (
	batchLetters = 2000      // dead letters in one transaction
	batchBytes   = 16 << 20  // values and headers in one transaction; a larger dead letter has its own transaction
	unsentBytes  = 800 << 10 // unacknowledged bytes of one partition; the default limit of a topic for one batch is slightly higher
	// denseBytes is the batch size from which a batch is compressed harder. By default a topic takes about a megabyte
	// of compressed bytes, and a record that came into the source topic in a zstd batch must fit again. Batches of
	// several records stay smaller (see unsentBytes).
	denseBytes = 960 << 10
	// largestRecord is the limit of the client; the limit of the topic applies.
	largestRecord = 64 << 20
	// transactionTimeout is the time after which the broker aborts an open transaction of a replayer that is gone.
	transactionTimeout = 10 * time.Second
	// abortTimeout bounds the abort of one transaction.
	abortTimeout = 5 * time.Second
	// writeTimeouts bounds one transaction in multiples of transactionTimeout, also after the caller is canceled.
	writeTimeouts = 3
)

// errLost marks a transaction with an unknown end, because the broker did not answer in time. The next replayer
// settles it.
var errLost = errors.New("the broker was lost")

// ErrUndecided marks an execution that ended before it learned whether its last transaction was committed. Match it
// with errors.Is.
var ErrUndecided = errors.New("it is unknown whether the last transaction was committed")

// writer is the only replayer that may write for a source topic, until another one starts.
type writer struct {
	service *Service
	client  *kgo.Client
	trail   *trail
	files   *statedir.Writer    // nil keeps states in topics
	written map[partition]int64 // last offset written, committed or not

	undecided bool // the result of the last commit is unknown
}

// startWriter fences every earlier replayer of the source topic, ends its open transaction, and reads the status
// topic. The states that it returns stay current until this writer is fenced.
func (s *Service) startWriter(ctx context.Context, op operation.Operation, l *jobs.Lease) (*writer, *states.Table, error) {
	auditPartitions, err := s.store.AuditPartitions(ctx)
	if err != nil {
		return nil, nil, err
	}
	if err := l.Await(ctx); err != nil {
		return nil, nil, err
	}
	id := deadletters.TransactionalID(s.cfg.Source.Topic)
	client, err := kgo.NewClient(append(slices.Clip(s.opts),
		kgo.TransactionalID(id),
		kgo.TransactionTimeout(s.transactionTimeout),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchMaxBytes(int32(min(max(largestRecord, s.maxValue()+1<<20), 1<<30))),
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
	w := &writer{service: s, client: client, written: map[partition]int64{}}
	st, err := w.takeOver(ctx, op, l)
	if err != nil {
		w.close()
		return nil, nil, err
	}
	w.trail = &trail{
		topic: s.cfg.Topics.Audit, statusTopic: s.cfg.Topics.DLQStatus, partitions: auditPartitions,
		statusPartitions: int32(max(len(st.Ends), 1)), heads: maps.Clone(st.Heads),
	}
	return w, st, nil
}

// takeOver takes the lease, settles what the earlier replayer left open, and reads the states.
func (w *writer) takeOver(ctx context.Context, op operation.Operation, l *jobs.Lease) (*states.Table, error) {
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
	return w.service.states.LoadDecided(ctx, op.Undoes, own)
}

func (w *writer) close() {
	w.client.Close()
	w.closeFiles()
}

// commit writes a batch: records, states and audit events, or nothing. A batch without dead letters has the event of
// the operation only. If the source topic refuses a record for its size, commit writes nothing and returns the dead
// letter.
func (w *writer) commit(ctx context.Context, batch []staged) (refused *staged, err error) {
	e, err := w.service.encode(batch, w.trail)
	if err != nil {
		return nil, err
	}
	refused, err = w.journaled(ctx, e, false)
	if err != nil || refused == nil {
		return nil, err
	}
	// Perhaps only the whole batch is too large. The batch is encoded again, since the client modifies records that
	// it has sent.
	if e, err = w.service.encode(e.staged, w.trail); err != nil {
		return nil, err
	}
	return w.journaled(ctx, e, true)
}

// write commits a batch in one transaction. If separate is true, it sends each record in its own batch: only then is a
// refusal for size certain to concern that record.
//
// The transaction continues after ctx is canceled, within its own time limit: an abort would only waste its work.
func (w *writer) write(ctx context.Context, e *encoded, separate bool) (refused *staged, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeouts*w.service.transactionTimeout)
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
		return nil, w.timedOut(fmt.Errorf("commit a replay transaction: %w", named(kafka.DeniedTransactionalID(deadletters.TransactionalID(w.service.cfg.Source.Topic), err))), began)
	}
	return nil, nil
}

// timedOut distinguishes a transaction that the broker aborted for its age from one that another replayer fenced.
func (w *writer) timedOut(err error, began time.Time) error {
	if errors.Is(err, jobs.ErrFenced) && time.Since(began) >= w.service.transactionTimeout {
		return fmt.Errorf("%w for longer than a transaction may take (%s): %v", errLost, w.service.transactionTimeout, err) //nolint:errorlint // it is not fenced
	}
	return err
}

// abort ends a transaction that must not be committed. Otherwise readers would wait until the next replayer starts or
// the broker aborts it after its timeout. A fenced replayer has no transaction to abort.
func (w *writer) abort(ctx context.Context, cause error) error {
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
func (w *writer) produce(ctx context.Context, e *encoded, separate bool) (*staged, error) {
	limit := unsentBytes
	if separate {
		limit = 0
	}
	f := newDelivery(deadletters.TransactionalID(w.service.cfg.Source.Topic), w.written)
	w.send(ctx, f, nil, e.own)
	for i := range e.staged {
		records, err := e.letter(i)
		if err == nil {
			err = f.room(ctx, records, limit)
		}
		if err != nil {
			return f.end(err)
		}
		w.send(ctx, f, &e.staged[i], records)
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

func (w *writer) send(ctx context.Context, f *delivery, letter *staged, records []*kgo.Record) {
	f.sending(records)
	for _, r := range records {
		w.client.Produce(ctx, r, func(r *kgo.Record, err error) { f.note(letter, r, err) })
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
				jobs.ErrFenced, transactionTimeout, err)
		}
	}
	return err
}

// openKeys loads the keys that sign replays, from the environment or else from the control topic. It creates a key in
// the control topic if there is none. Each session calls it again, so that the signature uses the consumers' current
// key.
func (s *Service) openKeys(ctx context.Context) error {
	if len(s.given) > 0 {
		s.keys.Set(s.given)
		return nil
	}
	keys, err := control.Keys(ctx, s.opts, s.cfg.Topics.Control, s.now())
	if err != nil {
		return fmt.Errorf("the key that signs replays cannot be read from %s (`consumer topics ensure` creates the topic, which this command reads and writes; or set SWITCHBACK_REPLAY_KEY): %w",
			s.cfg.Topics.Control, err)
	}
	s.keys.Set(keys)
	return nil
}

// sign adds the proof that this replayer wrote the record. A record for another topic needs none: there it is not a
// replay.
func (s *Service) sign(r *kgo.Record) error {
	if r.Topic == s.cfg.Source.Topic && !s.keys.Sign(r) {
		return fmt.Errorf("no key to sign a replay for %s", r.Topic)
	}
	return nil
}
