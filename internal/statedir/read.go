package statedir

import (
	"context"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/recordbatch"
)

// Batch has the changes of one transaction.
type Batch struct {
	Records []Record `json:"records"` // records of the status topic and the audit topic

	// The same transaction sends these dead letters to the cluster: their IDs, in one replay. From has for each
	// partition an offset before them.
	Replay  string                     `json:"replay,omitempty"`
	Letters []string                   `json:"dead_letters,omitempty"`
	From    map[string]map[int32]int64 `json:"from,omitempty"`
}

// Record is one record of a topic that the journal replaces.
type Record struct {
	Topic   string             `json:"topic"`
	Key     []byte             `json:"key"`
	Value   []byte             `json:"value"` // nil for a tombstone
	Headers []kgo.RecordHeader `json:"headers,omitempty"`
}

// look reads the lines that were appended since the last call. The caller holds mu.
func (d *Dir) look() error {
	if d.missing {
		return nil
	}
	return d.each(d.read, func(l line) error {
		if l.start < d.read {
			return nil
		}
		switch {
		case l.kind == intent && d.pending == nil:
			d.pending = new(Batch)
			if err := l.decode(d.pending); err != nil {
				return err
			}
		case (l.kind == wentOut || l.kind == stayed) && d.pending != nil:
			d.pending, d.decided = nil, l.end
		case (l.kind == owned || l.kind == local) && d.pending == nil:
			d.decided = l.end
		default:
			return d.corrupt(l.start)
		}
		d.read = l.end
		return nil
	})
}

// Spans implements [kafka.Log]. It returns the decided part of the journal as the only partition of each topic.
func (d *Dir) Spans(context.Context, string) (map[int32]kafka.Span, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	err := d.look()
	if d.missing || err != nil {
		return map[int32]kafka.Span{}, err
	}
	return map[int32]kafka.Span{0: {End: d.decided}}, nil
}

// Scan implements [kafka.Log].
func (d *Dir) Scan(ctx context.Context, topic string, spans map[int32]kafka.Span, fn func(*kgo.Record) error, _ func(*recordbatch.Large) error) error {
	span, has := spans[0]
	if !has || span.Start >= span.End {
		return nil
	}
	var before *line // an intent without an outcome yet
	err := d.each(span.Start, func(l line) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if l.start >= span.End {
			return errEnough
		}
		switch l.kind {
		case intent:
			before = &l
		case wentOut:
			if before != nil {
				return before.records(topic, span, fn)
			}
		case local:
			return l.records(topic, span, fn)
		case owned, stayed:
		}
		return nil
	})
	if err == errEnough { //nolint:errorlint // it is not wrapped
		return nil
	}
	return err
}

// records calls fn for the batch's records of one topic.
func (l *line) records(topic string, span kafka.Span, fn func(*kgo.Record) error) error {
	var b Batch
	if err := l.decode(&b); err != nil {
		return err
	}
	for i, r := range b.Records {
		at := l.start + int64(i)
		if r.Topic != topic || at < span.Start || at >= span.End {
			continue
		}
		if err := fn(&kgo.Record{Topic: topic, Key: r.Key, Value: r.Value, Headers: r.Headers, Offset: at}); err != nil {
			return err
		}
	}
	return nil
}
