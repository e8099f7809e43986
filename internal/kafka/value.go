package kafka

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/switchback-geo/switchback/internal/dialects"
	"github.com/switchback-geo/switchback/internal/recordbatch"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// MaxAnswer is the largest response that a client must accept for [CopyValue], in bytes: a broker sends a batch as a
// whole, and an uncompressed one is as large as its values.
const MaxAnswer = 256 << 20

// GoneError means that a record is no longer at its position, and why.
type GoneError struct{ Why string }

// Error returns the reason.
func (e *GoneError) Error() string { return e.Why }

// CopyValue writes the value of one committed record, however large it is, and returns the record without its value.
// It keeps the compressed batch and the decompressor's window in memory. The error is a *[GoneError] if the record is
// no longer there.
func CopyValue(ctx context.Context, cl *kgo.Client, at header.Position, value io.Writer) (found *recordbatch.Large, err error) {
	if err := There(ctx, cl, at); err != nil {
		return nil, err
	}
	reader := recordbatch.NewReader(at.Topic, at.Partition, recordbatch.Limits{Record: MaxValue, Headers: MaxHeaders, Keep: dialects.OfAny})
	defer reader.Close()
	s := Scanner{cl: cl, topic: at.Topic}
	err = s.partition(ctx, at.Partition, Span{at.Offset, at.Offset + 1}, func(answer *kmsg.FetchResponseTopicPartition, _, end int64) (int64, error) {
		found, err = reader.Copy(ctx, answer, at.Offset, value)
		if errors.Is(err, recordbatch.ErrNoRecord) {
			err = &GoneError{fmt.Sprintf("there is no %s: it was deleted, compacted or never committed", at)}
		} else if err != nil {
			err = fmt.Errorf("read %s: %w", at, err)
		}
		return end, ours(err)
	})
	if err == nil && found == nil {
		err = &GoneError{fmt.Sprintf("retention took %s just now", at)}
	}
	return found, err
}

// There returns nil if a topic can have a record at a position; it does not read it. The error is a *[GoneError] if it
// cannot.
func There(ctx context.Context, cl *kgo.Client, at header.Position) error {
	spans, err := Spans(ctx, cl, at.Topic)
	if errors.Is(err, ErrNoTopic) {
		return &GoneError{fmt.Sprintf("topic %s does not exist", at.Topic)}
	}
	if err != nil {
		return err
	}
	span, ok := spans[at.Partition]
	switch {
	case !ok:
		return &GoneError{fmt.Sprintf("topic %s has no partition %d", at.Topic, at.Partition)}
	case at.Offset < span.Start:
		return &GoneError{fmt.Sprintf("retention took %s (the log starts at offset %d)", at, span.Start)}
	case at.Offset >= span.End:
		return &GoneError{fmt.Sprintf("there is no %s (the log ends at offset %d)", at, span.End)}
	}
	return nil
}
