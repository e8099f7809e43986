package batch

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Large is one record batch that is read record by record. It holds the batch as it is on the wire, and a window of what
// it decompresses to. It is for one goroutine; Close it.
type Large struct {
	topic     string
	partition int32
	head      kmsg.RecordBatch
	maxRecord int
	aborted   bool
	streams   Streams
	in        *bufio.Reader
	read      int32 // records
	broken    error
}

// Item is one offset of a large batch: a record, or what is known of one that is beyond the bound of a record.
type Item struct {
	Record   *kgo.Record // with its offset in any case
	Pointer  *Oversized  // not nil when the record's value, and perhaps its key, are left out
	Unusable error       // why nothing is known of the record: the rest of the batch cannot be decompressed or parsed
}

// Bytes is what the batch takes on the wire.
func (l *Large) Bytes() int { return len(l.head.Records) }

// Next is the offset after the batch.
func (l *Large) Next() int64 { return l.last() + 1 }

func (l *Large) last() int64 { return l.head.FirstOffset + int64(l.head.LastOffsetDelta) }

// Close ends the decoder.
func (l *Large) Close() { l.streams.Close() }

const (
	// maxWindow bounds what zstd keeps of a batch. RFC 8878 recommends that decoders take 8 MiB.
	maxWindow = 32 << 20
	// bufferBytes is how much is decompressed at once.
	bufferBytes = 64 << 10
)

// open begins to read a batch.
func open(topic string, partition int32, head kmsg.RecordBatch, aborted bool, maxRecord int) *Large {
	l := &Large{topic: topic, partition: partition, head: head, maxRecord: maxRecord, aborted: aborted, streams: Streams{Window: maxWindow}}
	raw, err := l.streams.Open(head.Records, kgo.CompressionCodecType(head.Attributes&0x7)) //nolint:gosec // three bits
	if err != nil {
		l.broken = err
		return l
	}
	l.in = bufio.NewReaderSize(raw, bufferBytes)
	return l
}

// Read gives the next record, in the order of offsets, and io.EOF after the last. A batch that cannot be read to its end
// gives an unusable item for each offset that is left: they are accounted for, whatever the batch was. Records of an
// aborted transaction and transaction markers are given as control records without content.
func (l *Large) Read(ctx context.Context) (Item, error) {
	if err := ctx.Err(); err != nil {
		return Item{}, err
	}
	if l.read >= l.head.NumRecords {
		return Item{}, io.EOF
	}
	if l.broken == nil {
		item, err := l.parse(ctx)
		switch {
		case err == nil:
			l.read++
			return item, nil
		case ctx.Err() != nil:
			return Item{}, ctx.Err()
		}
		l.broken = fmt.Errorf("record %d of %d of the batch at offset %d: %w", l.read+1, l.head.NumRecords, l.head.FirstOffset, unexpected(err))
	}
	// Only a batch that was never compacted has one record for each offset. What compaction has touched was read by a
	// broker, which would have refused it.
	offset := l.head.FirstOffset + int64(l.read)
	l.read++
	return Item{Record: l.record(offset, l.head.FirstTimestamp), Unusable: l.broken}, nil
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// record makes the frame of a record.
func (l *Large) record(offset, millis int64) *kgo.Record {
	stamped := int8(0)
	if l.head.Attributes&logAppendTime != 0 {
		stamped, millis = 1, l.head.MaxTimestamp
	}
	return &kgo.Record{
		Topic: l.topic, Partition: l.partition, Offset: offset, Timestamp: time.UnixMilli(millis), LeaderEpoch: l.head.PartitionLeaderEpoch,
		ProducerID: l.head.ProducerID, ProducerEpoch: l.head.ProducerEpoch,
		Attrs: kgo.NewRecordAttrs(kgo.RecordAttrsOpts{TimestampType: stamped}),
	}
}

// logAppendTime is the bit of a batch's attributes that says that the broker stamped the records, controlBatch that they
// are a transaction's markers.
const (
	logAppendTime = 0x8
	controlBatch  = 0x20
)

// Skipped says whether the batch holds nothing for a reader with read_committed.
func (l *Large) Skipped() bool { return l.aborted || l.head.Attributes&controlBatch != 0 }

// parse reads one record (KIP-98): its length, attributes, timestamp and offset deltas, key, value, headers.
func (l *Large) parse(ctx context.Context) (Item, error) {
	length, err := binary.ReadVarint(l.in)
	switch {
	case err != nil:
		return Item{}, err
	case length < 0:
		return Item{}, fmt.Errorf("a length of %d", length)
	case length <= int64(l.maxRecord):
		return l.whole(int(length))
	}
	return l.oversized(ctx, length)
}

// whole reads a record that may be kept.
func (l *Large) whole(length int) (Item, error) {
	raw := make([]byte, length)
	if _, err := io.ReadFull(l.in, raw); err != nil {
		return Item{}, err
	}
	b := kbin.Reader{Src: raw}
	b.Int8() // attributes, unused
	millis := l.head.FirstTimestamp + b.Varlong()
	r := l.record(l.head.FirstOffset+int64(b.Varint()), millis)
	r.Key, r.Value = b.VarintBytes(), b.VarintBytes()
	for range b.VarintArrayLen() {
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: b.VarintString(), Value: b.VarintBytes()})
	}
	return Item{Record: r}, b.Complete()
}
