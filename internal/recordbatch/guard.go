package recordbatch

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/twmb/franz-go/pkg/kgo"
)

// errTooMuch marks a batch that decompresses to more than its limit.
var errTooMuch = errors.New("it decompresses to more than")

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
	ctx     context.Context
	streams *streams
	most    int
}

// Decompress is [kgo.Decompressor]'s.
func (b bounded) Decompress(stored []byte, codec kgo.CompressionCodecType) ([]byte, error) {
	if codec == kgo.CodecNone {
		return stored, nil
	}
	in, err := b.streams.open(stored, codec)
	if err != nil {
		return nil, err
	}
	out, err := io.ReadAll(&guarded{ctx: b.ctx, in: in, left: int64(b.most), most: int64(b.most)})
	if errors.Is(err, errTooMuch) {
		return nil, kgo.ErrMaxDecompress
	}
	return out, err
}
