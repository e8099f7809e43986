package recordbatch

import (
	"context"
	"errors"
	"io"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// ErrNoRecord means that a response has no record at an offset: it was deleted, compacted, or never committed. Match
// it with errors.Is.
var ErrNoRecord = errors.New("there is no such record")

// Copy finds the record at an offset in the response to a request from that offset on, and writes its value. It
// returns the record without the value as a [Large], whatever its size. The error is [ErrNoRecord] if the response
// does not have the record.
func (r *Reader) Copy(ctx context.Context, answer *kmsg.FetchResponseTopicPartition, offset int64, value io.Writer) (*Large, error) {
	r.opened = nil
	whole := *r
	whole.limits.Record = maxBlock // for message sets of format 0 and 1, which are decompressed as a whole
	out := &outlet{to: value}
	var found *Large
	_, err := whole.each(ctx, answer, offset, offset+1, out,
		func(record *kgo.Record) error {
			_, err := out.Write(record.Value)
			found = largeOf(record, 0, "")
			return err
		},
		func(l *Large) error {
			found = l
			if l.Unread {
				return errors.New(l.String())
			}
			return nil
		})
	switch {
	case out.err != nil:
		return nil, out.err
	case err != nil:
		return nil, err
	case found == nil:
		return nil, ErrNoRecord
	}
	return found, nil
}

// outlet distinguishes an error of the value's writer from one of the batch.
type outlet struct {
	to  io.Writer
	err error
}

// Write implements [io.Writer].
func (o *outlet) Write(p []byte) (int, error) {
	n, err := o.to.Write(p)
	if err != nil {
		o.err = err
	}
	return n, err
}
