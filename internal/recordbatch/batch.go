package recordbatch

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	groupRecords = 256      // small records that are decoded together
	groupBytes   = 64 << 10 // of these records
	streamBuffer = 32 << 10
)

// batch passes on the records of a batch of format 2.
func (r *run) batch(b *kmsg.RecordBatch, stored int) error {
	last := b.FirstOffset + int64(b.LastOffsetDelta)
	if err := r.resume(b); err != nil {
		return r.unread(last, b.MaxTimestamp, stored, err)
	}
	g := group{run: r, batch: b, stored: stored, last: last}
	err := g.all()
	if err == nil {
		return nil
	}
	r.opened = nil
	if _, ours := errors.AsType[*callbackError](err); ours {
		return err
	}
	return r.unread(last, b.MaxTimestamp, stored, err)
}

// opened is a partly read batch. A caller that reads a batch in parts, each with a separate request, does not
// decompress it from the beginning each time.
type opened struct {
	first  int64
	crc    int32
	in     *bufio.Reader
	guard  *guarded
	left   int32 // records
	last   int64 // offset of the last record that was taken from the stream
	behind int64 // all records before this offset were read
}

// resume opens a batch, or continues where the last call left it.
func (r *run) resume(b *kmsg.RecordBatch) error {
	if o := r.opened; o != nil && o.first == b.FirstOffset && o.crc == b.CRC && o.behind <= r.at {
		o.guard.ctx = r.ctx
		return nil
	}
	in, guard, err := r.stream(r.ctx, b)
	if err != nil {
		return err
	}
	r.opened = &opened{first: b.FirstOffset, crc: b.CRC, in: in, guard: guard, left: b.NumRecords, last: b.FirstOffset - 1, behind: b.FirstOffset}
	return nil
}

// all passes on the remaining records; after an error, those before it.
func (g *group) all() error {
	o := g.opened
	for ; o.left > 0 && g.at < g.end && !g.enough; o.left-- {
		f, err := nextFrame(o.in)
		offset := g.batch.FirstOffset + f.delta
		switch {
		case err != nil:
		case offset <= o.last:
			err = fmt.Errorf("%w: its offset is %d, and that of the previous one %d", errFrame, offset, o.last)
		case offset >= g.end && offset <= g.last:
			o.behind = g.end
			return g.flush()
		default:
			o.last = offset
			err = g.next(&f, offset)
		}
		if err != nil {
			return cmp.Or(g.flush(), err)
		}
	}
	if o.left == 0 {
		g.opened = nil
	}
	if err := g.flush(); err != nil {
		return err
	}
	if o.behind = g.end; g.enough {
		o.behind = g.at
	}
	return nil
}

// stream opens the records of a batch as a stream.
func (r *Reader) stream(ctx context.Context, b *kmsg.RecordBatch) (*bufio.Reader, *guarded, error) {
	r.opened = nil // the batch that is open uses the same decompressor
	in, err := r.streams.open(b.Records, kgo.CompressionCodecType(b.Attributes&codecBits))
	if err != nil {
		return nil, nil, err
	}
	guard := &guarded{ctx: ctx, in: in, left: r.limits.Batch, limit: r.limits.Batch}
	return bufio.NewReaderSize(guard, streamBuffer), guard, nil
}

// group collects the bytes of small records of one batch. The client's own decoder decodes them, because only it knows
// how to derive their timestamps.
type group struct {
	*run
	batch   *kmsg.RecordBatch
	stored  int
	last    int64 // last offset of the batch
	records []byte
	n       int32
}

// next takes the next record from the stream.
func (g *group) next(f *frame, offset int64) (err error) {
	if offset < g.at {
		return f.skip()
	}
	if g.value != nil || f.left > int64(g.limits.Record)+int64(g.limits.Headers) {
		return g.describeLarge(f)
	}
	from := len(g.records)
	length := f.left
	if g.records, err = f.appendRecord(g.records); err != nil {
		g.records = g.records[:from]
		return err
	}
	own := g.records[len(g.records)-int(length):]
	stored, weight, err := headersOf(own)
	if err != nil {
		g.records = g.records[:from:from]
		return err
	}
	if length-stored > int64(g.limits.Record) || weight > int64(g.limits.Headers) {
		g.records = g.records[:from:from]
		held := frameOf(own)
		return g.describeLarge(&held)
	}
	if g.n++; g.n >= groupRecords || len(g.records) >= groupBytes {
		return g.flush()
	}
	return nil
}

// describeLarge yields a record that is too large, after the collected ones.
func (g *group) describeLarge(f *frame) error {
	if err := g.flush(); err != nil {
		return err
	}
	l, err := g.largeFrame(f)
	if err != nil {
		return err
	}
	return g.giveLarge(l)
}

// flush decodes and passes on the collected records.
func (g *group) flush() error {
	if g.n == 0 {
		return nil
	}
	records, err := g.decode(g.records, g.n)
	g.records, g.n = g.records[:0], 0
	if err != nil {
		return err
	}
	return g.give(records, g.stored)
}

// decode lets the client decode records that follow each other.
func (g *group) decode(records []byte, n int32) ([]*kgo.Record, error) {
	const head = 61 // bytes of a batch without its records
	b := *g.batch
	b.Attributes &^= codecBits | transactional
	b.Records, b.NumRecords, b.Length = records, n, int32(head-entryHead+len(records))
	fetched, _ := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{Topic: g.topic, Partition: g.partition, DisableCRCValidation: true},
		&kmsg.FetchResponseTopicPartition{Partition: g.partition, RecordBatches: b.AppendTo(make([]byte, 0, head+len(records)))}, nil, nil)
	if fetched.Err != nil {
		return nil, fetched.Err
	}
	if len(fetched.Records) != int(n) {
		return nil, fmt.Errorf("%w: %d of %d could be read", errFrame, len(fetched.Records), n)
	}
	for _, r := range fetched.Records {
		if r.Offset < g.batch.FirstOffset || r.Offset > g.last {
			return nil, fmt.Errorf("%w: its offset is %d, and the batch ends with %d", errFrame, r.Offset, g.last)
		}
	}
	return fetched.Records, nil
}
