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

// Compressor compresses the batches of one client (kgo.WithCompressor): fast as long as they fit a broker anyway, and
// otherwise as small as they get, since a record that came in compressed must fit the topics that it goes to. It is safe
// for concurrent use.
type Compressor struct {
	target int // bytes that a batch may have on the wire

	mu   sync.Mutex // one large batch at a time: the encoders take memory
	fast *zstd.Encoder
}

var _ kgo.Compressor = (*Compressor)(nil)

// NewCompressor makes a compressor for topics that take target bytes.
func NewCompressor(target int) *Compressor { return &Compressor{target: target} }

// window suits coordinates: in texts of numbers, matches further away cost more than they save.
const window = 64 << 10

func encoder(level zstd.EncoderLevel) *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(level), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(window), zstd.WithZeroFrames(true))
	if err != nil {
		panic(err) // only for options that do not fit together
	}
	return e
}

// Compress chooses snappy for a batch that fits as it is, and zstd for a larger one, at its best level if need be.
func (c *Compressor) Compress(dst *bytes.Buffer, src []byte, flags ...kgo.CompressFlag) ([]byte, kgo.CompressionCodecType) {
	if len(src) <= c.target || slices.Contains(flags, kgo.CompressDisableZstd) {
		if n := s2.MaxEncodedLen(len(src)); n > dst.Available() {
			dst.Grow(n)
		}
		return s2.EncodeSnappy(dst.AvailableBuffer(), src), kgo.CodecSnappy
	}
	return c.pack(dst.AvailableBuffer(), src, c.target), kgo.CodecZstd
}

// pack makes src as small as need be.
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
	return encoder(zstd.SpeedBestCompression).EncodeAll(src, out[:0]) // tens of mebibytes, rarely needed: not kept
}

// batchOverhead is what a batch has on the wire beside its compressed records (KIP-98), with a reserve for the length
// fields of a record.
const batchOverhead = 61 + 64

// Bytes is the most that a record takes in a batch of its own that is not compressed.
func Bytes(r *kgo.Record) int {
	n := len(r.Key) + len(r.Value) + batchOverhead
	for _, h := range r.Headers {
		n += lengthBytes(h.Key) + len(h.Key) + lengthBytes(h.Value) + len(h.Value)
	}
	return n
}

// lengthBytes returns how many bytes the length of a header's name or value takes.
func lengthBytes[T string | []byte](part T) int {
	var buf [binary.MaxVarintLen64]byte
	return binary.PutVarint(buf[:], int64(len(part)))
}

// Fits says whether a broker that takes limit bytes takes the record in a batch of its own, as the compressor makes it.
// A record that fits as it is costs nothing here.
func (c *Compressor) Fits(r *kgo.Record, limit int) bool {
	if Bytes(r) <= limit {
		return true
	}
	// The client encodes the record in the same way, but for a few bytes of length fields and its delta of time.
	raw := make([]byte, 0, Bytes(r))
	raw = append(append(raw, r.Key...), r.Value...)
	for _, h := range r.Headers {
		raw = append(binary.AppendVarint(raw, int64(len(h.Key))), h.Key...)
		raw = append(binary.AppendVarint(raw, int64(len(h.Value))), h.Value...)
	}
	return len(c.pack(nil, raw, limit))+batchOverhead <= limit
}
