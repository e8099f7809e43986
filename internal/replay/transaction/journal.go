package transaction

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/recordbatch"
	"github.com/switchback-geo/switchback/internal/statedir"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// openFiles locks the journal, and settles a batch that an earlier writer left without an outcome. That writer is
// fenced and its transaction has ended.
func (w *Writer) openFiles(ctx context.Context) (err error) {
	if w.config.Store.Dir() == nil {
		return nil
	}
	if w.files, err = w.config.Store.Dir().Lock(ctx); err != nil {
		return err
	}
	pending := w.files.Pending()
	if pending == nil {
		return nil
	}
	sent, err := w.wentOut(ctx, pending)
	if err != nil {
		return fmt.Errorf("find out whether the last transaction of the previous replayer was committed: %w", err)
	}
	w.config.Log.Info("settled the transaction of a replayer that ended without a report", "replay_id", pending.Replay, "dead_letters", len(pending.Letters), "committed", sent)
	return w.files.Decide(sent)
}

// wentOut reports whether a batch was committed, that is, whether one of its records is in its topic after the
// topic's earlier end. If retention has deleted everything since, this is unknown, and the batch counts as sent, so
// that no dead letter goes back twice. In a compacted topic only a newer value removes a record, and the dead letter
// is then held back anyway.
func (w *Writer) wentOut(ctx context.Context, b *statedir.Batch) (bool, error) {
	letters := map[string]bool{}
	for _, id := range b.Letters {
		letters[id] = true
	}
	found, gone := false, true
	see := func(r *kgo.Record) {
		replay, letter := marked(r)
		found = found || replay == b.Replay && letters[letter]
	}
	for topic, from := range b.From {
		spans, err := kafka.DecidedSpans(ctx, w.config.Store.Client, topic)
		if errors.Is(err, kafka.ErrNoTopic) {
			continue
		}
		if err != nil {
			return false, err
		}
		for p, start := range from {
			span := spans[p]
			gone = gone && (span.Start > start || span.End < start)
			rest := map[int32]kafka.Span{p: {Start: max(span.Start, start), End: span.End}}
			err := kafka.ScanWith(ctx, w.config.Store.Client, topic, rest, w.config.MaxValue,
				func(r *kgo.Record) error { see(r); return nil },
				func(l *recordbatch.Large) error { see(l.Record); return nil })
			if err != nil || found {
				return found, err
			}
		}
	}
	if gone {
		w.config.Log.Warn("the target topics have no more records of that time; the dead letters count as put back, and replayer reopen --including-put-back makes them pending again", "replay_id", b.Replay, "dead_letters", len(b.Letters))
	}
	return gone, nil
}

// journaled writes a batch. If a directory keeps the states, the intent is on disk before the transaction begins, and
// the outcome after it has ended. If the outcome is unknown, the next session finds it out.
func (w *Writer) journaled(ctx context.Context, e *encoded, separate bool) (refused *Change, err error) {
	if w.files == nil {
		if refused, err = w.write(ctx, e, separate); err == nil && refused == nil {
			w.chains = e.chains
		}
		return refused, err
	}
	kept, sent, err := w.divide(ctx, e)
	if err != nil {
		return nil, err
	}
	if err := w.files.Intend(kept); err != nil {
		return nil, err
	}
	if len(kept.Letters) > 0 {
		if refused, err = w.write(ctx, sent, separate); err == nil {
			err = w.files.Decide(refused == nil)
		}
	}
	if err == nil && refused == nil {
		w.chains = e.chains
	}
	return refused, err
}

// divide separates what goes into the journal from what goes to the cluster.
func (w *Writer) divide(ctx context.Context, e *encoded) (*statedir.Batch, *encoded, error) {
	kept, sent := &statedir.Batch{From: map[string]map[int32]int64{}}, &encoded{changes: e.changes, ready: make([][]*kgo.Record, len(e.changes))}
	keep := func(records []*kgo.Record) {
		for _, r := range records {
			kept.Records = append(kept.Records, statedir.Record{Topic: r.Topic, Key: r.Key, Value: r.Value, Headers: r.Headers})
		}
	}
	keep(e.own)
	for i := range e.changes {
		records, err := e.change(i)
		if err != nil {
			return nil, nil, err
		}
		if r := e.changes[i].Record; r != nil {
			sent.ready[i], records = records[:1], records[1:]
			if err := w.mark(ctx, kept, r); err != nil {
				return nil, nil, err
			}
		}
		keep(records)
	}
	heads, err := e.heads()
	if err != nil {
		return nil, nil, err
	}
	keep(heads)
	return kept, sent, nil
}

// marked returns the IDs that a replay writes into the headers of a record.
func marked(r *kgo.Record) (replay, letter string) {
	for _, h := range r.Headers {
		switch h.Key {
		case header.KeyReplayID:
			replay = string(h.Value)
		case header.KeyDeadLetterID:
			letter = string(h.Value)
		}
	}
	return replay, letter
}

// mark adds a record that will be sent to the batch, with a position before it in its partition.
func (w *Writer) mark(ctx context.Context, b *statedir.Batch, r *kgo.Record) error {
	replay, letter := marked(r)
	b.Replay, b.Letters = replay, append(b.Letters, letter)
	if b.From[r.Topic] == nil {
		b.From[r.Topic] = map[int32]int64{}
	}
	at := Partition{r.Topic, r.Partition}
	if _, known := w.written[at]; !known {
		ends, err := kadm.NewClient(w.config.Store.Client).ListEndOffsets(ctx, r.Topic)
		if err == nil {
			err = ends.Error()
		}
		if err != nil {
			return fmt.Errorf("list the end offsets of topic %s: %w", r.Topic, err)
		}
		for id, end := range ends[r.Topic] {
			other := Partition{r.Topic, id}
			if _, known := w.written[other]; !known {
				w.written[other] = end.Offset - 1
			}
		}
	}
	b.From[r.Topic][r.Partition] = w.written[at] + 1
	return nil
}

// closeFiles unlocks the journal.
func (w *Writer) closeFiles() {
	if w.files == nil {
		return
	}
	if err := w.files.Close(); err != nil {
		w.config.Log.Warn("the state directory was not closed", "error", err)
	}
}
