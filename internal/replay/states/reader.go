package states

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/replay/statestore"
)

// Reader reads the states of the dead letters of one DLQ.
type Reader struct {
	Store       *statestore.Store
	Client      *kgo.Client
	DLQ         deadletters.Reading // how the DLQ is read
	DeadLetters config.DeadLetters
	Now         func() time.Time
}

// Load reads the committed part of the status topic. A change of dead letters needs [Reader.LoadDecided] instead.
func (r *Reader) Load(ctx context.Context) (*Table, error) {
	return r.LoadUndoable(ctx, "")
}

// LoadUndoable is [Reader.Load] that also stores which dead letters an operation changed last.
func (r *Reader) LoadUndoable(ctx context.Context, operation string) (*Table, error) {
	spans, err := r.Store.StatusSpans(ctx)
	if err != nil {
		return nil, err
	}
	return r.load(ctx, spans, operation, "")
}

// LoadDecided reads the status topic up to its present end. It waits for open transactions of the consumer, since these
// would hide committed records behind them. It stores which dead letters the operations undoes and own changed last.
func (r *Reader) LoadDecided(ctx context.Context, undoes, own string) (*Table, error) {
	spans, err := r.Store.DecidedStatusSpans(ctx)
	if err != nil {
		return nil, err
	}
	return r.load(ctx, spans, undoes, own)
}

func (r *Reader) load(ctx context.Context, spans map[int32]kafka.Span, undoes, own string) (*Table, error) {
	st := NewTable(r.DeadLetters.MaxReplays)
	st.toUndo.operation, st.own.operation, st.elsewhere = undoes, own, r.Store.Alone
	for p, span := range spans {
		st.Ends[p] = span.End
	}
	err := deadletters.ScanStates(ctx, r.Store.Log(), r.Store.Topics.DLQStatus, spans, func(record *deadletters.StateRecord) error {
		st.add(record)
		return nil
	})
	return st, err
}

// follow calls fn for each record of the status topic in spans that follows the offsets in read. It updates read after
// each record, so that the next call continues there after an error.
func (r *Reader) follow(ctx context.Context, spans map[int32]kafka.Span, read map[int32]int64, fn func(*deadletters.StateRecord)) error {
	rest := map[int32]kafka.Span{}
	for p, span := range spans {
		if span.Start = max(span.Start, read[p]); span.Start < span.End {
			rest[p] = span
		}
	}
	err := deadletters.ScanStates(ctx, r.Store.Log(), r.Store.Topics.DLQStatus, rest, func(record *deadletters.StateRecord) error {
		fn(record)
		read[record.At.Partition] = record.At.Offset + 1
		return nil
	})
	if err != nil {
		return err
	}
	for p, span := range rest { // skip trailing transaction markers
		read[p] = span.End
	}
	return nil
}

// ClockSkew bounds the difference between the clocks of those who write records.
const ClockSkew = 5 * time.Minute

// Failures calls fn for each dead letter in the DLQ that reports a failure of the replay in other software (see
// [deadletters.ExternalOutcome]). It returns the offsets at which the next call continues. With nil offsets it begins
// at the time since, or at the beginning if since is zero.
func (r *Reader) Failures(ctx context.Context, replayID string, from map[int32]int64, since time.Time, fn func(*deadletters.Letter)) (map[int32]int64, error) {
	topic := r.Store.Topics.DLQ
	spans, err := kafka.Spans(ctx, r.Client, topic)
	if err != nil {
		return from, err
	}
	if from == nil && !since.IsZero() {
		if err := kafka.StartAt(ctx, r.Client, topic, spans, since.Add(-ClockSkew)); err != nil {
			return from, err
		}
	}
	next := map[int32]int64{}
	for p, span := range spans {
		next[p] = max(span.End, from[p])
		spans[p] = kafka.Span{Start: min(max(span.Start, from[p]), next[p]), End: next[p]}
	}
	err = r.DLQ.Letters(ctx, r.Client, topic, spans, func(l *deadletters.Letter) error {
		if deadletters.ReportsOutcome(l) && l.Control.ReplayID == replayID {
			fn(l)
		}
		return nil
	})
	if err != nil {
		return from, err
	}
	return next, nil
}
