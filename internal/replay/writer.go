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
	"github.com/switchback-geo/switchback/internal/statedir"
)

// ErrFenced marks a replayer that had to stop because another one of the same source topic
// started, or because its transaction took too long. Nothing that it had not committed will be.
var ErrFenced = errors.New("another replayer of this source topic took over")

const (
	batchLetters = 2000      // letters of one transaction
	batchBytes   = 16 << 20  // values and headers of one transaction; a larger letter has one of its own
	unsentBytes  = 800 << 10 // of one partition, that wait for the broker's word; a topic takes a little more in one batch by default
	// denseBytes is the size of a batch from which it is compressed harder. A topic takes about a megabyte of compressed bytes by
	// default, and a record that came into the source topic in a batch of zstd must fit again. Batches of several records stay
	// below (see unsentBytes).
	denseBytes = 960 << 10
	// largestRecord is what the client lets through; the topic's own limit decides.
	largestRecord = 64 << 20
	// transactionTimeout is after what time the broker ends a transaction whose replayer is gone.
	transactionTimeout = 10 * time.Second
	// abortTimeout bounds the abort of one transaction.
	abortTimeout = 5 * time.Second
	// writeTimeouts bounds one transaction, in transaction timeouts, also when the caller has been canceled.
	writeTimeouts = 3
)

// errLost marks a transaction of which nobody knows how it ended, because the broker did not answer in time.
// The next one to start settles it.
var errLost = errors.New("the broker was lost")

// ErrUndecided marks an execution that ended before it learned whether its last transaction was committed. Match it with errors.Is.
var ErrUndecided = errors.New("whether the last transaction was committed is not known")

// writer is the one that may write for a source topic, until another one starts.
type writer struct {
	service *Service
	client  *kgo.Client
	trail   *trail
	files   *statedir.Writer    // nil keeps states in topics
	written map[partition]int64 // last offset written, committed or not

	undecided bool // nobody knows whether the last transaction was committed
}

// startWriter fences every earlier replayer of the source topic and ends its open transaction; then it reads the
// status topic, with all that was committed by then. What that says stays true until this writer is fenced itself.
func (s *Service) startWriter(ctx context.Context, op operation) (*writer, *standing, error) {
	auditPartitions, err := s.auditPartitions(ctx)
	if err != nil {
		return nil, nil, err
	}
	if err := op.lease.await(ctx); err != nil {
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
	st, err := w.takeOver(ctx, op)
	if err != nil {
		w.close()
		return nil, nil, err
	}
	w.trail = &trail{
		topic: s.cfg.Topics.Audit, statusTopic: s.cfg.Topics.DLQStatus, partitions: auditPartitions,
		statusPartitions: int32(max(len(st.ends), 1)), heads: maps.Clone(st.heads),
	}
	return w, st, nil
}

// takeOver settles what the replayer before left open, takes the lease, and reads the states.
func (w *writer) takeOver(ctx context.Context, op operation) (*standing, error) {
	// The lease comes first, so that a replayer that holds the files, and is fenced, learns by whom.
	if err := op.lease.take(ctx); err != nil {
		return nil, err
	}
	if err := w.openFiles(ctx); err != nil {
		return nil, err
	}
	return w.service.decidedStanding(ctx, op)
}

// decidedStanding reads the status topic up to the end that it has now. An open transaction of the consumer would hide what
// an earlier replayer committed behind it, so it is waited for.
func (s *Service) decidedStanding(ctx context.Context, op operation) (*standing, error) {
	spans, err := s.decidedSpans(ctx)
	if err != nil {
		return nil, err
	}
	own := op.id
	if op.word == string(control.JobReplay) {
		own = "" // a replay knows its own letters by their replay id
	}
	return s.standingOf(ctx, spans, op.undoes, own)
}

func (w *writer) close() {
	w.client.Close()
	w.closeFiles()
}

// commit writes a batch: letters, states and audit events, or nothing; a batch without letters has the operation's own event. When
// the source topic refuses a letter for its size, nothing is written and the letter is returned.
func (w *writer) commit(ctx context.Context, batch []staged) (refused *staged, err error) {
	e, err := w.service.encode(batch, w.trail)
	if err != nil {
		return nil, err
	}
	refused, err = w.journaled(ctx, e, false)
	if err != nil || refused == nil {
		return nil, err
	}
	// Perhaps only all of them together are too large. They are encoded again: the client keeps things in records that it had.
	if e, err = w.service.encode(e.staged, w.trail); err != nil {
		return nil, err
	}
	return w.journaled(ctx, e, true)
}

// write commits a batch in one transaction. That a letter was refused for its size is only certain when each travels apart.
//
// The transaction goes on when ctx is canceled, within its own time: stopping in the middle would
// only throw its work away.
func (w *writer) write(ctx context.Context, e *encoded, apart bool) (refused *staged, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeouts*w.service.transactionTimeout)
	defer cancel()
	began := time.Now()
	if err := w.client.BeginTransaction(); err != nil {
		return nil, fmt.Errorf("begin a replay transaction: %w", named(err))
	}
	refused, err = w.produce(ctx, e, apart)
	if err != nil || refused != nil {
		return refused, w.timedOut(w.abort(ctx, err), began)
	}
	if err := w.client.EndTransaction(ctx, kgo.TryCommit); err != nil {
		// Whether it was committed is not known, so nothing more is said to the broker: an abort could
		// undo nothing, but it would take the id back from a replayer that started meanwhile. The next
		// one to start, or the broker after the transaction's timeout, settles it.
		w.undecided = true
		return nil, w.timedOut(fmt.Errorf("commit a replay transaction: %w", named(kafka.DeniedTransactionalID(deadletters.TransactionalID(w.service.cfg.Source.Topic), err))), began)
	}
	return nil, nil
}

// timedOut tells a transaction that the broker ended for its age from one that another replayer fenced.
func (w *writer) timedOut(err error, began time.Time) error {
	if errors.Is(err, ErrFenced) && time.Since(began) >= w.service.transactionTimeout {
		return fmt.Errorf("%w for longer than a transaction may take (%s): %v", errLost, w.service.transactionTimeout, err) //nolint:errorlint // it is not fenced
	}
	return err
}

// abort ends a transaction that must not be committed. Without it the broker would do so itself,
// after its timeout or when the next replayer starts; until then readers would wait. One that is
// fenced has nothing left to end.
func (w *writer) abort(ctx context.Context, cause error) error {
	if errors.Is(cause, ErrFenced) {
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

// produce sends the records of a batch and waits for them. It sends no faster than the client packs no more into one
// batch of a topic than the topic takes.
func (w *writer) produce(ctx context.Context, e *encoded, apart bool) (*staged, error) {
	most := unsentBytes
	if apart {
		most = 0
	}
	f := newDelivery(deadletters.TransactionalID(w.service.cfg.Source.Topic), w.written)
	w.send(ctx, f, nil, e.own)
	for i := range e.staged {
		records, err := e.letter(i)
		if err == nil {
			err = f.room(ctx, records, most)
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

// named puts what fencing means before the broker's words.
func named(err error) error {
	for _, fenced := range []error{kerr.ProducerFenced, kerr.InvalidProducerEpoch, kerr.InvalidProducerIDMapping, kerr.InvalidTxnState} {
		if errors.Is(err, fenced) {
			return fmt.Errorf("%w (or a transaction of this one took longer than %s); what it had committed stays, run it again to go on: %w",
				ErrFenced, transactionTimeout, err)
		}
	}
	return err
}

// openKeys takes up the keys that sign replays: those of the environment, else those of the control topic, which gets one when it has
// none. It is read again in each session, so that a replay is signed with the key that the consumers have now.
func (s *Service) openKeys(ctx context.Context) error {
	if len(s.given) > 0 {
		s.keys.Set(s.given)
		return nil
	}
	keys, err := control.Keys(ctx, s.opts, s.cfg.Topics.Control, s.now())
	if err != nil {
		return fmt.Errorf("the key that signs replays is in %s (`consumer topics ensure` makes the topic; this command reads and writes it), or in SWITCHBACK_REPLAY_KEY: %w",
			s.cfg.Topics.Control, err)
	}
	s.keys.Set(keys)
	return nil
}

// sign proves to the consumer that this replayer wrote a record. Another topic is another pipeline's: there it is no replay.
func (s *Service) sign(r *kgo.Record) error {
	if r.Topic == s.cfg.Source.Topic && !s.keys.Sign(r) {
		return fmt.Errorf("no key to sign a replay for %s", r.Topic)
	}
	return nil
}
