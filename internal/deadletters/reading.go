package deadletters

import (
	"context"
	"fmt"
	"math"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/recordbatch"
	"github.com/switchback-geo/switchback/pkg/idempotency"
)

// Reading is how the records of a DLQ become dead letters.
type Reading struct {
	Dialect   Dialect // the software that wrote the DLQ; "" means that the headers of each record decide
	Alone     bool    // there is no pipeline (see [DecodeAlone])
	NoContent bool    // dead letters come without their content
	MaxValue  int     // largest value that is kept in memory, in bytes; 0 is [MaxValue]
}

// decode returns a record as a dead letter.
func (r Reading) decode(record *kgo.Record) Letter {
	switch {
	case r.Alone:
		return DecodeAlone(r.Dialect, record, !r.NoContent)
	case r.Dialect != "":
		return DecodeAs(r.Dialect, record, !r.NoContent)
	}
	return Decode(record, !r.NoContent)
}

// Letters is [Scan] for a DLQ: it calls fn with each record as a dead letter. One that is too large for memory has no
// value (see [Letter.TooLarge]); an unreadable range of offsets is one dead letter.
func (r Reading) Letters(ctx context.Context, cl *kgo.Client, topic string, spans map[int32]kafka.Span, fn func(*Letter) error) error {
	p := r.Parts(cl, topic)
	defer p.Close()
	return p.Letters(ctx, spans, fn)
}

// Parts reads a DLQ part by part. It does not decompress a batch again whose rest is in the next part. One goroutine
// uses and closes it.
type Parts struct {
	scanner *kafka.Scanner
	reading Reading
}

// Parts returns a reader of parts.
func (r Reading) Parts(cl *kgo.Client, topic string) *Parts {
	return &Parts{scanner: kafka.NewScanner(cl, topic, r.MaxValue), reading: r}
}

// Close frees the memory that is kept between parts.
func (p *Parts) Close() { p.scanner.Close() }

// Letters is [Reading.Letters] for one part.
func (p *Parts) Letters(ctx context.Context, spans map[int32]kafka.Span, fn func(*Letter) error) error {
	return p.scanner.Scan(ctx, spans,
		func(r *kgo.Record) error {
			l := p.reading.decode(r)
			return fn(&l)
		},
		func(large *recordbatch.Large) error {
			l := p.reading.decode(large.Record)
			l.beLarge(large)
			return fn(&l)
		})
}

// beLarge completes a dead letter of which only key, headers and sizes are known, or not even those.
func (l *Letter) beLarge(from *recordbatch.Large) {
	l.Last = from.Last
	l.Size = int(min(max(from.Bytes, 0), math.MaxInt))
	l.TooLarge = fmt.Sprintf("too large to index: %s; replayer show %s --out FILE writes its value", from.Why, l.ID)
	if from.Unread {
		l.TooLarge = "too large to index: " + from.String()
		l.Problems = nil // what is missing in headers that were not read
	}
	l.Problems = append([]string{l.TooLarge}, l.Problems...)
	if l.Control.ContentHash == "" { // without its value it equals no other dead letter
		l.ContentHash = idempotency.Of([]byte("large dead letter"), []byte(l.DLQ.String()), from.Head).String()
	}
	if l.Content != nil {
		l.Content.Head = from.Head
	}
}
