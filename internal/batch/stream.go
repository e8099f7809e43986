package batch

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/twmb/franz-go/pkg/kgo"
)

// maxWindow bounds what a streaming decoder keeps of a batch. RFC 8878 recommends that decoders take 8 MiB; a frame that
// asks for more than this cannot be read.
const maxWindow = 32 << 20

// stream gives the records of a compressed batch as they are decompressed, and what ends the decoder. It holds a window of
// the batch in memory, never all of it, but for snappy, whose blocks are at most about 21 times as large as on the wire.
func stream(src []byte, codec kgo.CompressionCodecType) (io.Reader, func(), error) {
	none := func() {}
	switch codec {
	case kgo.CodecNone:
		return bytes.NewReader(src), none, nil
	case kgo.CodecSnappy:
		blocks, err := snappyBlocks(src)
		return &snappyReader{blocks: blocks}, none, err
	case kgo.CodecGzip:
		r, err := gzip.NewReader(bytes.NewReader(src))
		return r, none, err
	case kgo.CodecLz4:
		return lz4.NewReader(bytes.NewReader(src)), none, nil
	case kgo.CodecZstd:
		d, err := zstd.NewReader(bytes.NewReader(src), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, none, err
		}
		return d, d.Close, nil
	case kgo.CodecError:
	}
	return nil, none, fmt.Errorf("unknown compression codec %d", codec)
}

// snappyReader decompresses one block after another.
type snappyReader struct {
	blocks [][]byte
	rest   []byte
}

func (r *snappyReader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		if len(r.blocks) == 0 {
			return 0, io.EOF
		}
		out, err := s2.Decode(nil, r.blocks[0])
		if err != nil {
			return 0, err
		}
		r.blocks, r.rest = r.blocks[1:], out
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// bufferBytes is how much is decompressed at once.
const bufferBytes = 64 << 10

func buffered(r io.Reader) *bufio.Reader { return bufio.NewReaderSize(r, bufferBytes) }
