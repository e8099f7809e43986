package recordbatch

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/twmb/franz-go/pkg/kgo"
)

// streams opens compressed batches as streams, one after another, with the same decoders. A stream holds a window of its
// batch in memory, never all of it, but for snappy, which is decompressed block by block. It is for one goroutine.
// Close it.
type streams struct {
	window uint64 // bytes that zstd may keep (RFC 8878); a frame that asks for more cannot be read
	block  int    // bytes that one block of snappy may decompress to; 0: as many as the format allows

	zstd *zstd.Decoder
	gzip *gzip.Reader
	lz4  *lz4.Reader
}

// close ends the decoders.
func (s *streams) close() {
	if s.zstd != nil {
		s.zstd.Close()
	}
}

// open gives the decompressed bytes of a batch. They are good until the next call.
func (s *streams) open(src []byte, codec kgo.CompressionCodecType) (io.Reader, error) {
	// A bytes.Buffer would not do: the zstd decoder decompresses a short one as a whole.
	in := bytes.NewReader(src)
	var err error
	switch codec {
	case kgo.CodecNone:
		return in, nil
	case kgo.CodecGzip:
		if s.gzip == nil {
			s.gzip = new(gzip.Reader)
		}
		return s.gzip, s.gzip.Reset(in)
	case kgo.CodecSnappy:
		return s.snappy(src)
	case kgo.CodecLz4:
		if s.lz4 == nil {
			s.lz4 = lz4.NewReader(nil)
		}
		s.lz4.Reset(in)
		return s.lz4, nil
	case kgo.CodecZstd:
		if s.zstd == nil {
			s.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(s.window))
			if err != nil {
				return nil, err
			}
		}
		return s.zstd, s.zstd.Reset(in)
	case kgo.CodecError:
	}
	return nil, fmt.Errorf("unknown compression codec %d", codec)
}

// snappy opens what Java's client has framed, or one block as other clients write it.
func (s *streams) snappy(src []byte) (io.Reader, error) {
	if framed(src) {
		return &blocks{rest: src[xerialHeader:], most: s.block}, nil
	}
	block, err := decodeBlock(nil, src, s.block)
	return bytes.NewReader(block), err
}

// mostOfABlock is how many bytes a byte of snappy may stand for: an element of three bytes copies 64. The decoder also
// takes S2's repeats, which no client of Kafka writes, and by which some bytes become gigabytes.
const mostOfABlock = 22

func decodeBlock(to, block []byte, most int) ([]byte, error) {
	n, err := s2.DecodedLen(block)
	switch {
	case err != nil:
		return nil, err
	case most > 0 && n > most:
		return nil, fmt.Errorf("one block of snappy decompresses to %d bytes, more than %d", n, most)
	case n > mostOfABlock*len(block):
		return nil, fmt.Errorf("one block of snappy of %d bytes decompresses to %d, more than the format allows: %w", len(block), n, s2.ErrCorrupt)
	}
	return s2.Decode(to[:cap(to)], block)
}

// blocks decompresses framed snappy, block after block.
type blocks struct {
	rest, buf, out []byte
	most           int
}

// Read gives the next decompressed bytes.
func (b *blocks) Read(p []byte) (int, error) {
	for len(b.out) == 0 {
		if len(b.rest) == 0 {
			return 0, io.EOF
		}
		if len(b.rest) < 4 {
			return 0, io.ErrUnexpectedEOF
		}
		n := int64(binary.BigEndian.Uint32(b.rest))
		if b.rest = b.rest[4:]; n > int64(len(b.rest)) {
			return 0, io.ErrUnexpectedEOF
		}
		var err error
		if b.out, err = decodeBlock(b.buf, b.rest[:n], b.most); err != nil {
			return 0, err
		}
		b.buf, b.rest = b.out, b.rest[n:]
	}
	n := copy(p, b.out)
	b.out = b.out[n:]
	return n, nil
}
