package recordbatch

import (
	"bytes"
	"encoding/binary"
	"slices"
	"sync"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Compressor compresses the batches of one client (kgo.WithCompressor). It is fast for batches that a broker accepts
// anyway, and makes larger ones as small as possible, because a record that arrived compressed must fit into the
// topics to which it is written. It is safe for concurrent use.
type Compressor struct {
	target int // bytes of a batch on the wire

	mu   sync.Mutex // one large batch at a time: the encoders take memory
	fast *zstd.Encoder
}

var _ kgo.Compressor = (*Compressor)(nil)

// NewCompressor returns a compressor for topics that accept batches of target bytes.
func NewCompressor(target int) *Compressor { return &Compressor{target: target} }

// window suits coordinates: in texts of numbers, matches further away cost more than they save.
const window = 64 << 10

func encoder(level zstd.EncoderLevel) *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(level), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(window), zstd.WithZeroFrames(true))
	if err != nil {
		panic(err) // only for options that contradict each other
	}
	return e
}

// Compress uses snappy for a batch that fits uncompressed, and zstd for a larger one, at its best level if necessary.
func (c *Compressor) Compress(dst *bytes.Buffer, src []byte, flags ...kgo.CompressFlag) ([]byte, kgo.CompressionCodecType) {
	if len(src) <= c.target || slices.Contains(flags, kgo.CompressDisableZstd) {
		if n := s2.MaxEncodedLen(len(src)); n > dst.Available() {
			dst.Grow(n)
		}
		return s2.EncodeSnappy(dst.AvailableBuffer(), src), kgo.CodecSnappy
	}
	return c.pack(dst.AvailableBuffer(), src, c.target), kgo.CodecZstd
}

// pack compresses src as hard as the target requires.
func (c *Compressor) pack(dst, src []byte, target int) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fast == nil {
		c.fast = encoder(zstd.SpeedFastest)
	}
	out := c.fast.EncodeAll(src, dst)
	if len(out) <= target {
		return out
	}
	return encoder(zstd.SpeedBestCompression).EncodeAll(src, out[:0]) // it takes tens of mebibytes and is rarely needed, so it is not kept
}

// batchOverhead is the size of a batch on the wire besides its compressed records (KIP-98), with a reserve for the
// length fields of a record.
const batchOverhead = 61 + 64

// Bytes returns the largest size of a record in an uncompressed batch with no other record.
func Bytes(r *kgo.Record) int {
	n := len(r.Key) + len(r.Value) + batchOverhead
	for _, h := range r.Headers {
		n += lengthBytes(h.Key) + len(h.Key) + lengthBytes(h.Value) + len(h.Value)
	}
	return n
}

// lengthBytes returns the size of the length field of a header's name or value.
func lengthBytes[T string | []byte](part T) int {
	var buf [binary.MaxVarintLen64]byte
	return binary.PutVarint(buf[:], int64(len(part)))
}

// Fits reports whether a broker that accepts limit bytes accepts the record alone in a batch that the compressor has
// compressed. For a record that fits uncompressed the check costs nothing.
func (c *Compressor) Fits(r *kgo.Record, limit int) bool {
	if Bytes(r) <= limit {
		return true
	}
	// The client encodes the record in the same way, except for a few bytes of length fields and the timestamp's
	// delta.
	raw := make([]byte, 0, Bytes(r))
	raw = append(append(raw, r.Key...), r.Value...)
	for _, h := range r.Headers {
		raw = append(binary.AppendVarint(raw, int64(len(h.Key))), h.Key...)
		raw = append(binary.AppendVarint(raw, int64(len(h.Value))), h.Value...)
	}
	return len(c.pack(nil, raw, limit))+batchOverhead <= limit
}
