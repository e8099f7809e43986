package recordbatch

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/twmb/franz-go/pkg/kgo"
)

// streams opens compressed batches as streams, one after another, with the same decoders. A stream keeps a window of
// its batch in memory, never all of it; snappy keeps one block. One goroutine uses and closes it.
type streams struct {
	window uint64 // bytes that zstd may keep (RFC 8878); a frame that asks for more cannot be read
	block  int    // bytes that one block of snappy may decompress to

	zstd *zstd.Decoder
	gzip *gzip.Reader
	lz4  *lz4.Reader
	all  bytes.Buffer // of decompress
}

func newStreams(window, block int) *streams {
	return &streams{window: uint64(max(window, zstd.MinWindowSize)), block: block}
}

// close ends the decoders.
func (s *streams) close() {
	if s.zstd != nil {
		s.zstd.Close()
	}
}

// decompress returns the decompressed bytes of a whole batch in memory of their own. The error wraps
// [kgo.ErrMaxDecompress] if there are more than limit.
func (s *streams) decompress(ctx context.Context, src []byte, codec kgo.CompressionCodecType, limit int) ([]byte, error) {
	if codec == kgo.CodecNone {
		return src, nil
	}
	in, err := s.open(src, codec)
	if err == nil {
		s.all.Reset() // the buffer is used again, so that the result has exactly the size it needs
		_, err = s.all.ReadFrom(&guarded{ctx: ctx, in: in, left: int64(limit) + 1, limit: int64(limit)})
	}
	switch {
	case err == nil:
		return bytes.Clone(s.all.Bytes()), nil
	case errors.Is(err, errTooMuch) || errors.Is(err, zstd.ErrWindowSizeExceeded) || errors.Is(err, zstd.ErrDecoderSizeExceeded):
		return nil, fmt.Errorf("%w: %w", kgo.ErrMaxDecompress, err)
	}
	return nil, err
}

// bounded decompresses message sets of format 0 and 1 for the client, whole and within a limit.
type bounded struct {
	ctx     context.Context
	streams *streams
	limit   int
}

// Decompress implements [kgo.Decompressor].
func (b bounded) Decompress(stored []byte, codec kgo.CompressionCodecType) ([]byte, error) {
	return b.streams.decompress(b.ctx, stored, codec, b.limit)
}

// open returns the decompressed bytes of a batch. They are valid until the next call.
func (s *streams) open(src []byte, codec kgo.CompressionCodecType) (io.Reader, error) {
	// Not a bytes.Buffer: the zstd decoder decompresses a short one as a whole.
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

// xerialPrefix begins the framing of Java's snappy streams: the magic bytes, a version and the oldest compatible version,
// then blocks with their lengths. Other clients write one block without a frame.
const xerialPrefix = "\x82SNAPPY\x00"

const xerialHeader = 16

// snappy opens the frames of Java's client, or the one block of another client.
func (s *streams) snappy(src []byte) (io.Reader, error) {
	if len(src) >= xerialHeader && string(src[:len(xerialPrefix)]) == xerialPrefix {
		return &blocks{rest: src[xerialHeader:], limit: s.block}, nil
	}
	block, err := decodeBlock(nil, src, s.block)
	return bytes.NewReader(block), err
}

// mostOfABlock is the largest number of bytes that one byte of snappy can expand to: an element of three bytes copies
// 64. The decoder also accepts S2's repeats, which no Kafka client writes and which expand a few bytes to gigabytes.
const mostOfABlock = 22

func decodeBlock(to, block []byte, limit int) ([]byte, error) {
	n, err := s2.DecodedLen(block)
	switch {
	case err != nil:
		return nil, err
	case n > limit:
		return nil, fmt.Errorf("%w %d bytes in one block of snappy", errTooMuch, limit)
	case n > mostOfABlock*len(block):
		return nil, fmt.Errorf("one block of snappy of %d bytes decompresses to %d, more than the format allows: %w", len(block), n, s2.ErrCorrupt)
	}
	return s2.Decode(to[:cap(to)], block)
}

// blocks decompresses framed snappy, block after block.
type blocks struct {
	rest, buf, out []byte
	limit          int
}

// Read returns the next decompressed bytes.
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
		if b.out, err = decodeBlock(b.buf, b.rest[:n], b.limit); err != nil {
			return 0, err
		}
		b.buf, b.rest = b.out, b.rest[n:]
	}
	n := copy(p, b.out)
	b.out = b.out[n:]
	return n, nil
}

// errTooMuch marks a batch that decompresses to more than its limit; the limit follows in the message.
var errTooMuch = errors.New("it decompresses to more than")

// guarded ends a stream with its context, and after a number of bytes.
type guarded struct {
	ctx   context.Context
	in    io.Reader
	left  int64
	limit int64
}

// Read implements [io.Reader].
func (g *guarded) Read(p []byte) (int, error) {
	if err := g.ctx.Err(); err != nil {
		return 0, err
	}
	if g.left <= 0 {
		return 0, fmt.Errorf("%w %d bytes", errTooMuch, g.limit)
	}
	n, err := g.in.Read(p[:min(int64(len(p)), g.left)])
	g.left -= int64(n)
	return n, err
}
