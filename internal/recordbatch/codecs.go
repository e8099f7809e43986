package recordbatch

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/twmb/franz-go/pkg/kgo"
)

// codecs decompress whole batches of at most max bytes. The client's own decompressor, which is the same but for the
// budget, cannot be wrapped with a bound.
type codecs struct {
	max             int
	gzip, lz4, zstd *sync.Pool
	buffers         *sync.Pool
}

func newCodecs(most int) codecs {
	return codecs{
		max:  most,
		gzip: &sync.Pool{New: func() any { return new(gzip.Reader) }},
		lz4:  &sync.Pool{New: func() any { return lz4.NewReader(nil) }},
		zstd: &sync.Pool{New: func() any {
			d, err := zstd.NewReader(nil, zstd.WithDecoderLowmem(true), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(uint64(most))) //nolint:gosec // positive
			if err != nil {
				panic(err) // only for options that do not fit together
			}
			return d
		}},
		buffers: &sync.Pool{New: func() any { return new(bytes.Buffer) }},
	}
}

// decompress gives the records of a batch in memory of their own. The error wraps kgo.ErrMaxDecompress beyond max bytes.
func (c codecs) decompress(src []byte, codec kgo.CompressionCodecType) ([]byte, error) {
	switch codec {
	case kgo.CodecNone:
		return src, nil
	case kgo.CodecSnappy:
		return c.snappy(src)
	case kgo.CodecZstd:
		d := c.zstd.Get().(*zstd.Decoder)
		defer c.zstd.Put(d)
		out, err := d.DecodeAll(src, nil)
		if errors.Is(err, zstd.ErrDecoderSizeExceeded) || errors.Is(err, zstd.ErrWindowSizeExceeded) {
			return nil, fmt.Errorf("%w: %w", kgo.ErrMaxDecompress, err)
		}
		return out, err
	case kgo.CodecGzip:
		r := c.gzip.Get().(*gzip.Reader)
		defer c.gzip.Put(r)
		if err := r.Reset(bytes.NewReader(src)); err != nil {
			return nil, err
		}
		return c.readAll(r)
	case kgo.CodecLz4:
		r := c.lz4.Get().(*lz4.Reader)
		defer c.lz4.Put(r)
		r.Reset(bytes.NewReader(src))
		return c.readAll(r)
	case kgo.CodecError:
	}
	return nil, fmt.Errorf("unknown compression codec %d", codec)
}

// readAll collects in memory that is used again, so that the result has the size that it needs.
func (c codecs) readAll(r io.Reader) ([]byte, error) {
	buffer := c.buffers.Get().(*bytes.Buffer)
	defer c.buffers.Put(buffer)
	buffer.Reset()
	n, err := buffer.ReadFrom(io.LimitReader(r, int64(c.max)+1))
	switch {
	case err != nil:
		return nil, err
	case n > int64(c.max):
		return nil, kgo.ErrMaxDecompress
	}
	return slices.Clone(buffer.Bytes()), nil
}

func (c codecs) snappy(src []byte) ([]byte, error) {
	blocks, err := snappyBlocks(src)
	if err != nil {
		return nil, err
	}
	total := 0
	for _, b := range blocks {
		n, err := s2.DecodedLen(b)
		if err != nil {
			return nil, err
		}
		if total += n; total > c.max {
			return nil, kgo.ErrMaxDecompress
		}
	}
	out := make([]byte, 0, total)
	for _, b := range blocks {
		part, err := s2.Decode(out[len(out):cap(out)], b)
		if err != nil {
			return nil, err
		}
		out = append(out, part...) // in place: there is room
	}
	return out, nil
}

// xerialPrefix begins the framing of Java's snappy streams: the magic bytes, a version and the oldest compatible version,
// then blocks with their lengths. Other clients write one block without a frame.
const xerialPrefix = "\x82SNAPPY\x00"

const xerialHeader = 16

var errXerial = errors.New("malformed snappy framing")

func framed(src []byte) bool {
	return len(src) >= xerialHeader && string(src[:len(xerialPrefix)]) == xerialPrefix
}

// snappyBlocks gives the blocks of a compressed batch.
func snappyBlocks(src []byte) ([][]byte, error) {
	if !framed(src) {
		return [][]byte{src}, nil
	}
	var blocks [][]byte
	for rest := src[xerialHeader:]; len(rest) > 0; {
		if len(rest) < 4 {
			return nil, errXerial
		}
		n := int64(rest[0])<<24 | int64(rest[1])<<16 | int64(rest[2])<<8 | int64(rest[3])
		if n > int64(len(rest)-4) {
			return nil, errXerial
		}
		blocks = append(blocks, rest[4:4+n])
		rest = rest[4+n:]
	}
	return blocks, nil
}
