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

// errTooMuch marks a batch that decompresses to more than its limit.
var errTooMuch = errors.New("it decompresses to more than")

// codecs keep decompressors for batch after batch. They are for one goroutine.
type codecs struct {
	zstd *zstd.Decoder
	gzip *gzip.Reader
	lz4  *lz4.Reader
}

func (c *codecs) close() {
	if c.zstd != nil {
		c.zstd.Close()
	}
}

// open gives the decompressed bytes of a batch as a stream. It is good until the next call.
func (c *codecs) open(codec kgo.CompressionCodecType, stored []byte) (io.Reader, error) {
	// A bytes.Buffer would not do: the zstd decoder decompresses a short one as a whole.
	in := bytes.NewReader(stored)
	var err error
	switch codec {
	case kgo.CodecNone:
		return in, nil
	case kgo.CodecGzip:
		if c.gzip == nil {
			c.gzip = new(gzip.Reader)
		}
		return c.gzip, c.gzip.Reset(in)
	case kgo.CodecSnappy:
		return openSnappy(stored)
	case kgo.CodecLz4:
		if c.lz4 == nil {
			c.lz4 = lz4.NewReader(nil)
		}
		c.lz4.Reset(in)
		return c.lz4, nil
	case kgo.CodecZstd:
		if c.zstd == nil {
			c.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
			if err != nil {
				return nil, err
			}
		}
		return c.zstd, c.zstd.Reset(in)
	}
	return nil, fmt.Errorf("unknown compression %d", codec)
}

// xerial is how the Java client frames snappy: 16 bytes, then blocks, each behind its length.
const xerial = "\x82SNAPPY\x00"

const xerialBytes = 16

func openSnappy(stored []byte) (io.Reader, error) {
	if len(stored) > xerialBytes && string(stored[:len(xerial)]) == xerial {
		return &blocks{stored: stored[xerialBytes:]}, nil
	}
	block, err := decodeBlock(nil, stored)
	return bytes.NewReader(block), err
}

func decodeBlock(to, block []byte) ([]byte, error) {
	n, err := s2.DecodedLen(block)
	if err == nil && n > maxBlock {
		err = fmt.Errorf("one block of snappy decompresses to %d bytes, more than %d", n, maxBlock)
	}
	if err != nil {
		return nil, err
	}
	return s2.Decode(to[:cap(to)], block)
}

// blocks decompresses block after block.
type blocks struct {
	stored, buf, rest []byte
}

// Read gives the next decompressed bytes.
func (b *blocks) Read(p []byte) (int, error) {
	for len(b.rest) == 0 {
		if len(b.stored) == 0 {
			return 0, io.EOF
		}
		if len(b.stored) < 4 {
			return 0, io.ErrUnexpectedEOF
		}
		n := int(binary.BigEndian.Uint32(b.stored))
		if b.stored = b.stored[4:]; n > len(b.stored) {
			return 0, io.ErrUnexpectedEOF
		}
		var err error
		if b.rest, err = decodeBlock(b.buf, b.stored[:n]); err != nil {
			return 0, err
		}
		b.buf, b.stored = b.rest, b.stored[n:]
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

// guarded ends a stream with its context, and when it becomes too long.
type guarded struct {
	ctx  context.Context
	in   io.Reader
	left int64
	most int64
}

// Read reads on.
func (g *guarded) Read(p []byte) (int, error) {
	if err := g.ctx.Err(); err != nil {
		return 0, err
	}
	if g.left <= 0 {
		return 0, fmt.Errorf("%w %d bytes", errTooMuch, g.most)
	}
	n, err := g.in.Read(p[:min(int64(len(p)), g.left)])
	g.left -= int64(n)
	return n, err
}

// bounded decompresses message sets of format 0 and 1 for the client, whole and within a bound.
type bounded struct {
	ctx    context.Context
	codecs *codecs
	most   int
}

// Decompress is [kgo.Decompressor]'s.
func (b bounded) Decompress(stored []byte, codec kgo.CompressionCodecType) ([]byte, error) {
	if codec == kgo.CodecNone {
		return stored, nil
	}
	in, err := b.codecs.open(codec, stored)
	if err != nil {
		return nil, err
	}
	out, err := io.ReadAll(&guarded{ctx: b.ctx, in: in, left: int64(b.most), most: int64(b.most)})
	if errors.Is(err, errTooMuch) {
		return nil, kgo.ErrMaxDecompress
	}
	return out, err
}
