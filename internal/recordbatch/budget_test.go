package recordbatch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/s2"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/switchback-geo/switchback/internal/testkit/bombs"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// packed returns the records of a batch as they are on the wire.
func packed(codec kgo.CompressionCodecType, records ...bombs.Record) []byte {
	return bombs.Batch(codec, at, records...).Records
}

// xerial frames blocks like Java's snappy library.
func xerial(blocks ...[]byte) []byte {
	out := append([]byte(xerialPrefix), 0, 0, 0, 1, 0, 0, 0, 1)
	for _, raw := range blocks {
		b := s2.EncodeSnappy(nil, raw)
		out = append(binary.BigEndian.AppendUint32(out, uint32(len(b))), b...)
	}
	return out
}

// The budget's decompressor has the same results as the client's own, for the writers of all codecs.
func TestBudget_decompressesAsTheClientDoes(t *testing.T) {
	records := []bombs.Record{{Key: []byte("a"), Value: []byte(strings.Repeat("11.5,48.1 ", 500))}, {Key: []byte("b"), Value: []byte("two")}}
	raw := packed(kgo.CodecNone, records...)
	b := NewBudget(1<<20, 1<<20)
	for codec := range kgo.CompressionCodecType(5) {
		out, err := b.Decompress(packed(codec, records...), codec)
		expect.That(t, err == nil && bytes.Equal(out, raw), "codec %d: %d bytes, %v", codec, len(out), err)
	}
	out, err := b.Decompress(xerial(raw[:100], raw[100:]), kgo.CodecSnappy)
	expect.That(t, err == nil && bytes.Equal(out, raw), "framed snappy: %d bytes, %v", len(out), err)
	for codec := range kgo.CompressionCodecType(4) {
		_, err := b.Decompress([]byte("no compressed text"), codec+1)
		expect.That(t, err != nil && !errors.Is(err, kgo.ErrMaxDecompress), "codec %d: uncompressed data: %v", codec+1, err)
	}
}

func TestBudget_boundsABatch(t *testing.T) {
	b := NewBudget(100_000, 1<<20)
	blank := []bombs.Record{{Key: []byte("a"), Blanks: 100_001}}
	tiny := make([]bombs.Record, 5000) // 35 KB on the wire, a megabyte in memory
	for codec := range kgo.CompressionCodecType(4) {
		for name, records := range map[string][]bombs.Record{"blanks": blank, "tiny records": tiny} {
			_, err := b.Decompress(packed(codec+1, records...), codec+1)
			expect.That(t, errors.Is(err, kgo.ErrMaxDecompress), "codec %d, %s: error %v", codec+1, name, err)
		}
	}
}

// A response is decompressed up to its budget, but its first batch always.
func TestBudget_boundsAResponse(t *testing.T) {
	b := NewBudget(100_000, 150_000)
	batch := packed(kgo.CodecZstd, bombs.Record{Key: []byte("a"), Blanks: 90_000})
	for response := range 3 {
		b.OnBrokerRead(kgo.BrokerMetadata{}, int16(kmsg.Fetch), 0, 0, 0, nil)
		for n, want := range []error{nil, ErrDeferred, ErrDeferred} {
			_, err := b.Decompress(batch, kgo.CodecZstd)
			expect.That(t, errors.Is(err, want), "response %d, batch %d: error %v, want %v", response, n, err, want)
		}
		b.OnBrokerRead(kgo.BrokerMetadata{}, int16(kmsg.Heartbeat), 0, 0, 0, nil) // not a fetch response
		_, err := b.Decompress(batch, kgo.CodecZstd)
		expect.That(t, Deferred(err), "response %d: an answer to something else began a new budget: %v", response, err)
	}
	small := NewBudget(100_000, 50_000)
	must.Get(small.Decompress(batch, kgo.CodecZstd))(t)
}

// A record that fits is compressed fast, any other is compressed until it fits.
func TestCompressor_compressesHarderWhereItMust(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // numbers for a test
	var text strings.Builder
	for x, y := 11.5, 48.1; text.Len() < 400_000; x, y = x+random.Float64()/1000, y+random.Float64()/1000 {
		fmt.Fprintf(&text, "[%.7f,%.7f],", x, y)
	}
	raw := []byte(text.String())
	size := func(target int) (int, kgo.CompressionCodecType) {
		out, codec := NewCompressor(target).Compress(new(bytes.Buffer), raw)
		back, err := NewBudget(1<<20, 1<<20).Decompress(out, codec)
		must.That(t, err == nil && bytes.Equal(back, raw), "target %d: the round trip fails: %v", target, err)
		return len(out), codec
	}
	_, codec := size(len(raw))
	expect.That(t, codec == kgo.CodecSnappy, "a fitting record was compressed by codec %d", codec)
	fast, codec := size(len(raw) - 1)
	expect.That(t, codec == kgo.CodecZstd && fast < len(raw)-1, "a record that does not fit: %d bytes by codec %d", fast, codec)
	best, _ := size(fast - 1)
	expect.That(t, best < fast, "%d bytes where %d were too many", best, fast)
	_, codec = NewCompressor(10).Compress(new(bytes.Buffer), raw, kgo.CompressDisableZstd)
	expect.That(t, codec == kgo.CodecSnappy, "codec %d for a broker without zstd", codec)
	r := &kgo.Record{Key: []byte("k"), Value: raw}
	c := NewCompressor(1000)
	for limit, want := range map[int]bool{Bytes(r): true, fast + 1000: true, best + 1000: true, best - 1000: false} {
		expect.Equal(t, c.Fits(r, limit), want, "fits", limit, "best", best, "fast", fast)
	}
}

// A batch that is read in several calls yields each record once, and is decompressed once.
func TestEach_S0_5_goes_on_with_a_batch_where_it_was_left(t *testing.T) {
	var records []bombs.Record
	for i := range 60 {
		records = append(records, bombs.Record{Value: []byte{byte(i)}, Blanks: int64(i%3) << 20})
	}
	a, other := answer(40, bombs.Batch(kgo.CodecZstd, at, records...)), answer(100, bombs.Batch(kgo.CodecZstd, at, some()...))
	r := NewReader("t", 3, Limits{Record: 1<<20 + 1<<10, Batch: 70 << 20})
	defer r.Close()
	var seen []int64
	each := func(a *kmsg.FetchResponseTopicPartition, from, end int64) {
		t.Helper()
		next, err := r.Each(t.Context(), a, from, end,
			func(r *kgo.Record) error { seen = append(seen, r.Offset); return nil },
			func(l *Large) error {
				expect.That(t, !l.Unread, "%v", l)
				seen = append(seen, l.Offset)
				return nil
			})
		must.That(t, err == nil && next == end, "next %d, %v", next, err)
	}
	for from := int64(40); from < 100; from += 4 {
		each(a, from, from+3) // skipping one
	}
	expect.That(t, len(seen) == 45 && seen[0] == 40 && seen[44] == 98 && r.opened != nil && r.opened.left == 1, "%v, %+v", seen, r.opened)
	each(a, 99, 100)
	expect.That(t, r.opened == nil, "a batch that was read to its end is kept")
	each(a, 50, 51)
	each(other, 100, 101)
	each(a, 51, 52) // the decompressor was used for the other batch meanwhile
	each(a, 45, 46) // backwards
	got := seen[45:]
	expect.That(t, reflect.DeepEqual(got, []int64{99, 50, 100, 51, 45}), "%v", got)
}

// If a callback ends a call, the next call continues after its record. Each record is yielded once, small or large, and
// the batch is decompressed once.
func TestEach_S0_5_endsWhenACallbackHasEnough(t *testing.T) {
	var records []bombs.Record
	for i := range 1000 {
		r := bombs.Record{Value: []byte{byte(i)}}
		if i%100 == 7 {
			r.Blanks = 2 << 20
		}
		records = append(records, r)
	}
	a := answer(40, bombs.Batch(kgo.CodecZstd, at, records...))
	r := NewReader("t", 3, Limits{Record: 1 << 20, Batch: 21 << 20})
	defer r.Close()
	var seen []int64
	calls := 0
	for from := int64(40); from < 1040; calls++ {
		next, err := r.Each(t.Context(), a, from, math.MaxInt64,
			func(r *kgo.Record) error { seen = append(seen, r.Offset); return ErrEnough },
			func(l *Large) error { seen = append(seen, l.Offset); return ErrEnough })
		must.That(t, err == nil && next > from, "from %d to %d: %v", from, next, err)
		from = next
	}
	for i, offset := range seen {
		must.That(t, offset == 40+int64(i), "record %d has the offset %d", i, offset)
	}
	expect.That(t, len(seen) == 1000 && calls >= 10, "%d records in %d calls", len(seen), calls)
}

// The estimated size of a record is its size on the wire plus a small reserve, however many headers it has. A higher
// estimate would refuse outputs that their topic accepts.
func TestBytes_S0_4_ofManyHeaders(t *testing.T) {
	for _, headers := range []int{0, 1, 200, 10_000, 100_000} {
		for _, length := range []int{0, 1, 63, 64, 9000} {
			if headers*length > 2<<20 {
				continue
			}
			r := &kgo.Record{Key: []byte("key"), Value: []byte(`{"type":"Feature"}`)}
			for i := range headers {
				r.Headers = append(r.Headers, kgo.RecordHeader{Key: "h" + strconv.Itoa(i), Value: bytes.Repeat([]byte{byte(i)}, length)})
			}
			wire := len(bombs.Bytes(bombs.Batch(kgo.CodecNone, time.Unix(0, 0), bombs.Record{Key: r.Key, Value: r.Value, Headers: r.Headers})))
			got := Bytes(r)
			expect.That(t, got >= wire && got <= wire+64, "%d headers of %d bytes: %d, on the wire %d", headers, length, got, wire)
			expect.That(t, NewCompressor(got).Fits(r, got), "%d headers of %d bytes do not match their size", headers, length)
		}
	}
}
