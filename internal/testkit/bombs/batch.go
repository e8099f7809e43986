package bombs

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Record is a record of a batch. Its value is Value, followed by Blanks blanks.
type Record struct {
	Key     []byte
	Value   []byte // nil without blanks is a tombstone
	Blanks  int64
	Headers []kgo.RecordHeader
	Delta   int32 // offset delta; 0 is the position in the batch
}

// Batch builds a batch. Its first offset is 0, which a broker replaces.
func Batch(codec kgo.CompressionCodecType, at time.Time, records ...Record) *kmsg.RecordBatch {
	var stored bytes.Buffer
	w := compressor(codec, &stored)
	last := int32(0)
	for i, r := range records {
		last = max(int32(i), r.Delta)
		must(r.write(w, last))
	}
	must(w.Close())
	b := &kmsg.RecordBatch{
		Magic: 2, Attributes: int16(codec), LastOffsetDelta: last, FirstTimestamp: at.UnixMilli(), MaxTimestamp: at.UnixMilli(),
		ProducerID: -1, ProducerEpoch: -1, FirstSequence: -1, PartitionLeaderEpoch: -1, NumRecords: int32(len(records)), Records: stored.Bytes(),
	}
	return b
}

// Bytes encodes a batch as it is stored, with its length and its checksum.
func Bytes(b *kmsg.RecordBatch) []byte {
	const head, crcAt, crcFrom = 12, 17, 21
	b.Length = 0
	text := b.AppendTo(nil)
	b.Length = int32(len(text) - head)
	binary.BigEndian.PutUint32(text[8:], uint32(b.Length))
	b.CRC = int32(crc32.Checksum(text[crcFrom:], crc32.MakeTable(crc32.Castagnoli)))
	binary.BigEndian.PutUint32(text[crcAt:], uint32(b.CRC))
	return text
}

// write writes a record of format 2.
func (r *Record) write(w io.Writer, delta int32) error {
	n := int64(len(r.Value)) + r.Blanks
	before := binary.AppendVarint(binary.AppendVarint([]byte{0}, 0), int64(delta))
	if r.Key == nil {
		before = binary.AppendVarint(before, -1)
	} else {
		before = append(binary.AppendVarint(before, int64(len(r.Key))), r.Key...)
	}
	if r.Value == nil && r.Blanks == 0 {
		before = binary.AppendVarint(before, -1)
	} else {
		before = binary.AppendVarint(before, n)
	}
	behind := binary.AppendVarint(nil, int64(len(r.Headers)))
	for _, h := range r.Headers {
		behind = append(binary.AppendVarint(behind, int64(len(h.Key))), h.Key...)
		behind = append(binary.AppendVarint(behind, int64(len(h.Value))), h.Value...)
	}
	length := binary.AppendVarint(nil, int64(len(before)+len(behind))+n)
	_, err := io.Copy(struct{ io.Writer }{w}, io.MultiReader(bytes.NewReader(length), bytes.NewReader(before), bytes.NewReader(r.Value), io.LimitReader(blanks{}, r.Blanks), bytes.NewReader(behind)))
	return err
}

// blanks is an endless reader of blanks.
type blanks struct{}

func (blanks) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

func compressor(codec kgo.CompressionCodecType, to io.Writer) io.WriteCloser {
	switch codec {
	case kgo.CodecGzip:
		return gzip.NewWriter(to)
	case kgo.CodecSnappy:
		return &xerial{to: to}
	case kgo.CodecLz4:
		return lz4.NewWriter(to)
	case kgo.CodecZstd:
		w, err := zstd.NewWriter(to, zstd.WithEncoderConcurrency(1))
		must(err)
		return w
	default:
		return nopCloser{to}
	}
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// xerial is the Java client's framing.
type xerial struct {
	to  io.Writer
	buf []byte
	any bool
}

const xerialBlock = 32 << 10

func (x *xerial) Write(p []byte) (int, error) {
	x.buf = append(x.buf, p...)
	for len(x.buf) >= xerialBlock {
		if err := x.block(x.buf[:xerialBlock]); err != nil {
			return 0, err
		}
		x.buf = append(x.buf[:0], x.buf[xerialBlock:]...)
	}
	return len(p), nil
}

func (x *xerial) block(p []byte) error {
	var out []byte
	if !x.any {
		out, x.any = append(out, "\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01"...), true
	}
	block := snappy.Encode(nil, p)
	_, err := x.to.Write(append(binary.BigEndian.AppendUint32(out, uint32(len(block))), block...))
	return err
}

// Close writes the remaining bytes.
func (x *xerial) Close() error {
	if len(x.buf) == 0 && x.any {
		return nil
	}
	return x.block(x.buf)
}

// RawSnappy compresses an uncompressed batch as one block, as some clients do.
func RawSnappy(b *kmsg.RecordBatch) *kmsg.RecordBatch {
	b.Records = s2.EncodeSnappy(nil, b.Records)
	b.Attributes = int16(kgo.CodecSnappy)
	return b
}

func must(err error) {
	if err != nil {
		panic(fmt.Sprintf("make a batch: %v", err)) // writing into memory
	}
}
