package recordbatch

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// ErrNoRecord says that an answer has no record at an offset: it was deleted, compacted, or never committed. Match it with
// errors.Is.
var ErrNoRecord = errors.New("there is no such record")

// errFound ends the reading of an answer.
var errFound = errors.New("found")

// Copy finds the record at an offset in an answer to a request from that offset on, and writes its value. What else is
// known of the record comes as [Large], whether it is large or not. The error is [ErrNoRecord] when it is not there.
func (r *Reader) Copy(ctx context.Context, answer *kmsg.FetchResponseTopicPartition, offset int64, value io.Writer) (*Large, error) {
	e, _, ok := nextEntry(answer.RecordBatches)
	if !ok {
		return nil, ErrNoRecord
	}
	if e.magic != 2 {
		return r.copyOld(ctx, answer, offset, value)
	}
	var b kmsg.RecordBatch
	if err := readBatch(e, &b); err != nil {
		return nil, err
	}
	if b.Attributes&controlling != 0 || abortedOf(answer).covers(&b) || offset < b.FirstOffset || offset > b.FirstOffset+int64(b.LastOffsetDelta) {
		return nil, ErrNoRecord
	}
	out := &outlet{to: value}
	l, err := r.copyFrom(ctx, &b, len(e.stored), offset, out)
	switch {
	case out.err != nil:
		return nil, out.err
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, fmt.Errorf("the batch at offset %d cannot be read: %w", b.FirstOffset, err)
	case l == nil:
		return nil, ErrNoRecord
	}
	return l, nil
}

// copyFrom finds the record in a batch; nil when it is not there.
func (r *Reader) copyFrom(ctx context.Context, b *kmsg.RecordBatch, stored int, offset int64, value io.Writer) (*Large, error) {
	in, _, err := r.stream(ctx, b)
	if err != nil {
		return nil, err
	}
	g := group{run: &run{Reader: r, ctx: ctx}, batch: b, stored: stored, last: b.FirstOffset + int64(b.LastOffsetDelta)}
	for range b.NumRecords {
		if l, err := g.copyNext(in, offset, value); err != nil || l != nil {
			return l, err
		}
	}
	return nil, nil
}

// outlet tells what the writer of a value refused from what could not be read.
type outlet struct {
	to  io.Writer
	err error
}

// Write writes on.
func (o *outlet) Write(p []byte) (int, error) {
	n, err := o.to.Write(p)
	if err != nil {
		o.err = err
	}
	return n, err
}

// copyNext reads the next record of a stream: the one at the offset, with its value, or another one, which it skips.
func (g *group) copyNext(in *bufio.Reader, offset int64, value io.Writer) (*Large, error) {
	f, err := nextFrame(in)
	if err != nil {
		return nil, err
	}
	if g.batch.FirstOffset+f.delta != offset {
		return nil, f.skip()
	}
	total := f.left
	if err := f.start(); err != nil {
		return nil, err
	}
	l, _, err := g.describe(&f, value)
	if err != nil {
		return nil, err
	}
	l.Why = fmt.Sprintf("%d bytes", total)
	return l, nil
}

// copyOld is Copy for a message set of format 0 or 1, which is decompressed as a whole.
func (r *Reader) copyOld(ctx context.Context, answer *kmsg.FetchResponseTopicPartition, offset int64, value io.Writer) (*Large, error) {
	var found *Large
	take := func(l *Large, bytes []byte) error {
		found = l
		if l.Unread {
			return fmt.Errorf("%s", l)
		}
		if _, err := value.Write(bytes); err != nil {
			return err
		}
		return errFound
	}
	all := *r
	all.limits.Record = maxBlock
	_, err := all.Each(ctx, answer, offset, offset+1,
		func(record *kgo.Record) error {
			value := record.Value
			return take(largeOf(record, 0, ""), value)
		},
		func(l *Large) error { return take(l, nil) })
	switch {
	case errors.Is(err, errFound):
		return found, nil
	case err == nil:
		return nil, ErrNoRecord
	}
	return nil, err
}
