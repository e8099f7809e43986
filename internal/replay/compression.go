package replay

import (
	"bytes"

	"github.com/twmb/franz-go/pkg/kgo"
)

// denseBytes is from what size on a batch is compressed as much as can be, which takes three times as long. A topic takes about a
// megabyte of compressed bytes by default, and what came into the source topic in a batch of zstd has to fit in there again. Batches of
// several records (see unsentBytes) stay below.
const denseBytes = 960 << 10

// bySize compresses small batches fast and large ones densely.
type bySize struct{ fast, dense kgo.Compressor }

func newBySize() (*bySize, error) {
	fast, err := kgo.DefaultCompressor(kgo.SnappyCompression(), kgo.NoCompression())
	if err != nil {
		return nil, err
	}
	dense, err := kgo.DefaultCompressor(kgo.ZstdCompression(), kgo.GzipCompression(), kgo.NoCompression())
	return &bySize{fast: fast, dense: dense}, err
}

// Compress is [kgo.Compressor]'s.
func (c *bySize) Compress(dst *bytes.Buffer, src []byte, flags ...kgo.CompressFlag) ([]byte, kgo.CompressionCodecType) {
	if len(src) < denseBytes {
		return c.fast.Compress(dst, src, flags...)
	}
	return c.dense.Compress(dst, src, flags...)
}
