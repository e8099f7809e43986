package recordbatch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Reader reads the fetch responses of one partition. One goroutine uses and closes it.
type Reader struct {
	topic     string
	partition int32
	limits    Limits
	streams   *streams
	opened    *opened // the batch whose rest may be requested next; nil if there is none
}

// NewReader returns a reader of one partition.
func NewReader(topic string, partition int32, limits Limits) *Reader {
	limits.Batch, limits.Headers, limits.Window = cmp.Or(limits.Batch, usualBatch), cmp.Or(limits.Headers, usualHeaders), cmp.Or(limits.Window, usualWindow)
	return &Reader{topic: topic, partition: partition, limits: limits, streams: newStreams(limits.Window, maxBlock)}
}

// ErrEnough is returned by a callback of [Reader.Each] to end the call. A few more records may follow that are
// already in memory. The record of that callback counts as read, and the next call continues after it without
// decompressing the batch again.
var ErrEnough = errors.New("enough was read")

// Close frees the decompressors.
func (r *Reader) Close() { r.streams.close() }

// Each reads the records of a response with offsets from from up to end, exclusive. It calls fn for each record, and
// large for one that is too large for memory. It returns the next offset: after everything that was read, or from if
// the response has no complete batch. A fault after a yielded record is left to the next response. An error of fn or
// large ends the call and is returned unchanged.
func (r *Reader) Each(
	ctx context.Context, answer *kmsg.FetchResponseTopicPartition, from, end int64, fn func(*kgo.Record) error, large func(*Large) error,
) (next int64, err error) {
	return r.each(ctx, answer, from, end, nil, fn, large)
}

// each is [Reader.Each]. With a writer for values, it passes each record to large and writes its value.
func (r *Reader) each(
	ctx context.Context, answer *kmsg.FetchResponseTopicPartition, from, end int64, value io.Writer, fn func(*kgo.Record) error, large func(*Large) error,
) (next int64, err error) {
	if err := kerr.ErrorForCode(answer.ErrorCode); err != nil {
		return from, err
	}
	run := &run{Reader: r, ctx: ctx, aborted: abortedOf(answer), at: from, end: end, value: value, fn: fn, large: large}
	rest := answer.RecordBatches
	for run.at < end && !run.enough {
		e, more, ok := nextEntry(rest)
		if !ok {
			break
		}
		rest = more
		if err := run.entry(e); err != nil {
			if run.at > from && !errors.As(err, new(*callbackError)) && ctx.Err() == nil {
				break // a response that begins with the fault shows it again
			}
			return run.at, unwrapped(err)
		}
	}
	return run.at, nil
}

// callbackError distinguishes an error of a callback from one of the bytes.
type callbackError struct{ err error }

func (e *callbackError) Error() string { return e.err.Error() }

func unwrapped(err error) error {
	if of, ok := errors.AsType[*callbackError](err); ok {
		return of.err
	}
	return err
}

// run reads one response.
type run struct {
	*Reader
	ctx     context.Context
	aborted aborted
	at, end int64     // offsets: the next one, and where to stop
	enough  bool      // a callback returned ErrEnough
	value   io.Writer // of every record; nil skips values that are too large
	fn      func(*kgo.Record) error
	large   func(*Large) error
}

func (r *run) entry(e entry) error {
	if e.magic != 2 {
		return r.messageSet(e)
	}
	var b kmsg.RecordBatch
	if err := readBatch(e, &b); err != nil {
		return err
	}
	last := b.FirstOffset + int64(b.LastOffsetDelta)
	switch {
	case last < r.at:
		return nil
	case b.Attributes&controlling != 0:
		r.aborted.pass(&b)
	case r.aborted.covers(&b):
	default:
		if err := r.batch(&b, len(e.stored)); err != nil {
			return err
		}
		if r.enough && r.opened != nil {
			return nil
		}
	}
	r.at = min(last+1, r.end)
	return nil
}

// took handles the error of a callback.
func (r *run) took(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrEnough):
		r.enough = true
		return nil
	}
	return &callbackError{err}
}

// readBatch parses the head of a batch and verifies its checksum.
func readBatch(e entry, b *kmsg.RecordBatch) error {
	const crcFrom = 21 // KIP-98
	if err := b.ReadFrom(e.stored); err != nil || len(e.stored) < crcFrom {
		return fmt.Errorf("the batch at offset %d is incomplete", e.first)
	}
	if sum := int32(crc32.Checksum(e.stored[crcFrom:], crc32.MakeTable(crc32.Castagnoli))); sum != b.CRC {
		return fmt.Errorf("the batch at offset %d is damaged: its checksum is %x, its bytes have %x", e.first, uint32(b.CRC), uint32(sum))
	}
	if b.NumRecords < 0 || b.LastOffsetDelta < 0 {
		return fmt.Errorf("the batch at offset %d is damaged: it has %d records up to offset +%d", e.first, b.NumRecords, b.LastOffsetDelta)
	}
	return nil
}

// messageSet reads one entry of format 0 or 1 as the client does. It is decompressed as a whole.
func (r *run) messageSet(e entry) error {
	fetched, next := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{Offset: r.at, Topic: r.topic, Partition: r.partition},
		&kmsg.FetchResponseTopicPartition{Partition: r.partition, RecordBatches: e.stored},
		bounded{ctx: r.ctx, streams: r.streams, limit: r.limits.Record}, nil)
	if errors.Is(fetched.Err, kgo.ErrMaxDecompress) {
		return r.unread(e.first, 0, len(e.stored), fmt.Errorf("%w %d bytes", errTooMuch, r.limits.Record))
	}
	if fetched.Err != nil {
		return fetched.Err
	}
	if err := r.give(fetched.Records, len(e.stored)); err != nil {
		return err
	}
	r.at = min(max(r.at, next), r.end)
	return nil
}

// give yields records up to the end.
func (r *run) give(records []*kgo.Record, stored int) error {
	for _, record := range records {
		if record.Offset < r.at {
			continue
		}
		if record.Offset >= r.end {
			r.at = r.end
			return nil
		}
		var err error
		if why := r.tooLarge(record); why != "" {
			err = r.took(r.large(largeOf(record, stored, why)))
		} else {
			err = r.took(r.fn(record))
		}
		if err != nil {
			return err
		}
		r.at = record.Offset + 1
	}
	return nil
}

// unread passes on that the offsets up to last cannot be read, with the time of their batch in Unix milliseconds.
func (r *run) unread(last, at int64, stored int, why error) error {
	if r.ctx.Err() != nil {
		return r.ctx.Err()
	}
	if last = min(last, r.end-1); last < r.at { // the batch claims more records than it has offsets
		return nil
	}
	of := &kgo.Record{Topic: r.topic, Partition: r.partition, Offset: r.at, Timestamp: time.UnixMilli(at)}
	l := &Large{Record: of, Last: last, Stored: stored, Why: why.Error(), Unread: true}
	if err := r.took(r.large(l)); err != nil {
		return err
	}
	r.at = last + 1
	return nil
}
