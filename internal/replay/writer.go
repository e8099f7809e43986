package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/deadletters"
)

// ErrFenced marks a replayer that had to stop because another one of the same source topic
// started, or because its transaction took too long. Nothing that it had not committed will be.
var ErrFenced = errors.New("another replayer of this source topic took over")

const (
	batchLetters = 500       // letters of one transaction
	batchBytes   = 16 << 20  // values of one transaction; a larger letter has one of its own
	flushBytes   = 512 << 10 // of one produce request
	// largestRecord is what the client lets through; the topic's own limit decides.
	largestRecord = 64 << 20
	// transactionTimeout is after what time the broker ends a transaction whose replayer is gone.
	transactionTimeout = 10 * time.Second
	// abortTimeout bounds the abort of one transaction.
	abortTimeout = 5 * time.Second
	// writeTimeout bounds one transaction, also when the caller has been canceled.
	writeTimeout = 30 * time.Second
)

// TransactionalID is the transactional id under which every replayer of a source topic writes.
// That it is the same for all is what makes them fence each other.
func TransactionalID(source string) string { return "switchback-replayer-" + source }

// writer is the one that may write for a source topic, until another one starts.
type writer struct {
	service         *Service
	client          *kgo.Client
	auditPartitions int32
	written         map[partition]int64 // last offset written, committed or not
}

// startWriter fences every earlier replayer of the source topic and ends its open transaction.
// The status topic must be read after this, not before.
func (s *Service) startWriter(ctx context.Context) (*writer, error) {
	audit, err := deadletters.Partitions(ctx, s.client, s.cfg.Topics.Audit)
	if err != nil {
		return nil, err
	}
	client, err := kgo.NewClient(append(slices.Clip(s.opts),
		kgo.TransactionalID(TransactionalID(s.cfg.Source.Topic)),
		kgo.TransactionTimeout(transactionTimeout),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchMaxBytes(largestRecord),
		kgo.ProducerLinger(0),
	)...)
	if err != nil {
		return nil, fmt.Errorf("kafka client: %w", err)
	}
	if _, _, err := client.ProducerID(ctx); err != nil {
		client.Close()
		return nil, fmt.Errorf("take over transactional id %s: %w", TransactionalID(s.cfg.Source.Topic), named(err))
	}
	return &writer{service: s, client: client, auditPartitions: int32(len(audit)), written: map[partition]int64{}}, nil
}

func (w *writer) close() { w.client.Close() }

// write commits a batch in one transaction: letters, states and audit events, or nothing. When
// the source topic refuses a letter for its size, nothing is written and the letter is returned;
// that is only certain when each letter travels apart.
//
// The transaction goes on when ctx is canceled, within its own time: stopping in the middle would
// only throw its work away.
func (w *writer) write(ctx context.Context, batch []staged, apart bool) (refused *staged, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	if err := w.client.BeginTransaction(); err != nil {
		return nil, fmt.Errorf("begin a replay transaction: %w", named(err))
	}
	refused, err = w.produce(ctx, batch, apart)
	if err != nil || refused != nil {
		return refused, w.abort(ctx, err)
	}
	if err := w.client.EndTransaction(ctx, kgo.TryCommit); err != nil {
		// Whether it was committed is not known, so nothing more is said to the broker: an abort could
		// undo nothing, but it would take the id back from a replayer that started meanwhile. The next
		// one to start, or the broker after the transaction's timeout, settles it.
		return nil, fmt.Errorf("commit a replay transaction: %w", named(err))
	}
	return nil, nil
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

// produce sends the records of a batch and waits for them. It flushes often, so that the client
// packs no more into one batch than a topic takes.
func (w *writer) produce(ctx context.Context, batch []staged, apart bool) (*staged, error) {
	f := delivery{last: w.written}
	bytes := 0
	for i := range batch {
		records, err := w.service.records(&batch[i], w.auditPartitions)
		if err != nil {
			return nil, err
		}
		size := sizeOf(records)
		if bytes > 0 && (apart || bytes+size > flushBytes) {
			if err := w.flush(ctx, &f); err != nil {
				return f.end(err)
			}
			bytes = 0
		}
		bytes += size
		for _, r := range records {
			w.client.Produce(ctx, r, func(r *kgo.Record, err error) { f.note(&batch[i], r, err) })
		}
	}
	return f.end(w.flush(ctx, &f))
}

func (w *writer) flush(ctx context.Context, f *delivery) error {
	if err := w.client.Flush(ctx); err != nil {
		return fmt.Errorf("send a replay transaction: %w", err)
	}
	_, err := f.get()
	return err
}

func sizeOf(records []*kgo.Record) int {
	size := 0
	for _, r := range records {
		size += len(r.Key) + len(r.Value)
		for _, h := range r.Headers {
			size += len(h.Key) + len(h.Value)
		}
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
