package batch

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// packed compresses as the clients of other languages do.
func packed(t testing.TB, codec kgo.CompressionCodecType, raw []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	write := func(w io.WriteCloser) []byte {
		if _, err := w.Write(raw); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	switch codec {
	case kgo.CodecGzip:
		return write(gzip.NewWriter(&out))
	case kgo.CodecLz4:
		return write(lz4.NewWriter(&out))
	case kgo.CodecSnappy:
		return s2.EncodeSnappy(nil, raw)
	case kgo.CodecZstd:
		w, err := zstd.NewWriter(&out)
		if err != nil {
			t.Fatal(err)
		}
		return write(w)
	case kgo.CodecNone, kgo.CodecError:
	}
	return raw
}

// xerial frames blocks as Java's snappy does.
func xerial(blocks ...[]byte) []byte {
	out := append([]byte(xerialPrefix), 0, 0, 0, 1, 0, 0, 0, 1)
	for _, raw := range blocks {
		b := s2.EncodeSnappy(nil, raw)
		out = append(append(out, byte(len(b)>>24), byte(len(b)>>16), byte(len(b)>>8), byte(len(b))), b...)
	}
	return out
}

// encoded gives the records of a batch on the wire, uncompressed.
func encoded(records ...kmsg.Record) (raw []byte) {
	for i, r := range records {
		r.OffsetDelta = int32(i) //nolint:gosec // a test
		r.Length = int32(len(r.AppendTo(nil))) - 1
		whole := r.AppendTo(nil)
		r.Length = int32(len(whole)) - int32(len(kmsgVarint(r.Length))) //nolint:gosec // a test
		raw = r.AppendTo(raw)
	}
	return raw
}

func kmsgVarint(n int32) []byte {
	u := uint32(n)<<1 ^ uint32(n>>31) //nolint:gosec // zigzag
	var out []byte
	for u >= 0x80 {
		out = append(out, byte(u)|0x80)
		u >>= 7
	}
	return append(out, byte(u))
}

// batchOf makes the header that goes with records.
func batchOf(codec kgo.CompressionCodecType, n int, wire []byte) kmsg.RecordBatch {
	return kmsg.RecordBatch{
		FirstOffset: 100, Magic: 2, Attributes: int16(codec), LastOffsetDelta: int32(n) - 1, FirstTimestamp: 1_700_000_000_000,
		ProducerID: 7, NumRecords: int32(n), Records: wire,
	}
}

func record(key, value string) kmsg.Record {
	r := kmsg.NewRecord()
	r.Key, r.Value = []byte(key), []byte(value)
	r.Headers = []kmsg.Header{{Key: "ce_id", Value: []byte("1")}}
	return r
}

func TestLarge_readsEveryRecordInEveryCodec(t *testing.T) {
	big := strings.Repeat("11.5,48.1 ", 20_000) // 200 KB
	raw := encoded(record("a", "one"), record("b", big), record(strings.Repeat("k", keptKey+1), big), record("c", "last"))
	cases := map[string]kmsg.RecordBatch{
		"none":   batchOf(kgo.CodecNone, 4, raw),
		"gzip":   batchOf(kgo.CodecGzip, 4, packed(t, kgo.CodecGzip, raw)),
		"snappy": batchOf(kgo.CodecSnappy, 4, packed(t, kgo.CodecSnappy, raw)),
		"xerial": batchOf(kgo.CodecSnappy, 4, xerial(raw[:1000], raw[1000:])),
		"lz4":    batchOf(kgo.CodecLz4, 4, packed(t, kgo.CodecLz4, raw)),
		"zstd":   batchOf(kgo.CodecZstd, 4, packed(t, kgo.CodecZstd, raw)),
	}
	for name, head := range cases {
		t.Run(name, func(t *testing.T) {
			l := open("features", 3, head, false, 100_000)
			defer l.Close()
			items := readAll(t, l)
			if len(items) != 4 || l.Next() != 104 {
				t.Fatalf("%d items up to %d, want 4 up to 104", len(items), l.Next())
			}
			for i, it := range items {
				if it.Unusable != nil || it.Record.Offset != 100+int64(i) || it.Record.Topic != "features" || it.Record.Partition != 3 {
					t.Errorf("item %d: %+v, %v", i, it.Record, it.Unusable)
				}
			}
			if r := items[0].Record; string(r.Key) != "a" || string(r.Value) != "one" || len(r.Headers) != 1 || r.Headers[0].Key != "ce_id" {
				t.Errorf("the first record: %v", r)
			}
			if r := items[3].Record; string(r.Value) != "last" {
				t.Errorf("the last record: %v", r)
			}
			sum := sha256.Sum256([]byte(big))
			for i, key := range map[int]string{1: "b", 2: ""} {
				p := items[i].Pointer
				if p == nil || p.Bytes != int64(len(big)) || p.SHA256 != sum || string(p.Head) != big[:HeadBytes] || string(items[i].Record.Key) != key {
					t.Errorf("item %d: key %q, %+v", i, items[i].Record.Key, p)
				}
			}
			if items[2].Pointer.KeySHA256 == [32]byte{} || items[1].Pointer.KeySHA256 != [32]byte{} {
				t.Error("the hash of a key stands for the key, only where the key is left out")
			}
		})
	}
}

func readAll(t *testing.T, l *Large) (items []Item) {
	t.Helper()
	for {
		it, err := l.Read(t.Context())
		if errors.Is(err, io.EOF) {
			return items
		}
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, it)
	}
}

// A batch of 28 KB on the wire that holds a gibibyte costs a window of it.
func TestLarge_holdsAWindowOfABomb(t *testing.T) {
	const value = 256 << 20
	var wire bytes.Buffer
	w, err := zstd.NewWriter(&wire)
	if err != nil {
		t.Fatal(err)
	}
	// Length, attributes, deltas, a null key, the value's length: zigzag varints.
	head := append([]byte{0, 0, 0, 1}, zigzag(value)...)
	length := int64(len(head) + value + 1)
	if _, err := w.Write(append(zigzag(length), head...)); err != nil {
		t.Fatal(err)
	}
	blank := bytes.Repeat([]byte{' '}, 1<<20)
	for range value >> 20 {
		if _, err := w.Write(blank); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Write([]byte{0}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	l := open("features", 0, batchOf(kgo.CodecZstd, 1, wire.Bytes()), false, 16<<20)
	defer l.Close()
	items := readAll(t, l)
	runtime.ReadMemStats(&after)
	if len(items) != 1 || items[0].Pointer == nil || items[0].Pointer.Bytes != value || items[0].Record.Key != nil {
		t.Fatalf("%+v", items)
	}
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 32<<20 {
		t.Errorf("%d bytes allocated to read past %d", allocated, value)
	}
}

// S2 extends snappy by repeats, which no client of Kafka writes: some hundred bytes would become 100 MiB before a record is read.
func TestLarge_takesNoRepeatsOfS2ForSnappy(t *testing.T) {
	block := s2.Encode(nil, make([]byte, 100<<20))
	framed := binary.BigEndian.AppendUint32([]byte(xerialPrefix+"\x00\x00\x00\x01\x00\x00\x00\x01"), uint32(len(block)))
	for name, wire := range map[string][]byte{"block": block, "frame": append(framed, block...)} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			l := open("features", 0, batchOf(kgo.CodecSnappy, 1, wire), false, 16<<20)
			defer l.Close()
			items := readAll(t, l)
			runtime.ReadMemStats(&after)
			if len(items) != 1 || items[0].Unusable == nil || !strings.Contains(items[0].Unusable.Error(), "more than the format allows") {
				t.Fatalf("%+v", items)
			}
			if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 1<<20 {
				t.Errorf("%d bytes allocated for a block that cannot be snappy", allocated)
			}
		})
	}
}

func zigzag(n int64) []byte {
	u := uint64(n)<<1 ^ uint64(n>>63) //nolint:gosec // zigzag
	var out []byte
	for u >= 0x80 {
		out = append(out, byte(u)|0x80)
		u >>= 7
	}
	return append(out, byte(u))
}

// What cannot be read is accounted for, offset by offset.
func TestLarge_aBrokenBatchGivesEveryOffset(t *testing.T) {
	raw := encoded(record("a", "one"), record("b", "two"), record("c", "three"))
	for name, head := range map[string]kmsg.RecordBatch{
		"cut short":         batchOf(kgo.CodecNone, 3, raw[:len(raw)/2]),
		"not compressed so": batchOf(kgo.CodecGzip, 3, raw),
		"no such codec":     batchOf(7, 3, raw),
		"a negative length": batchOf(kgo.CodecNone, 3, append([]byte{1}, raw...)),
		"a field too long":  batchOf(kgo.CodecNone, 3, append([]byte{10, 0, 0, 0, 100}, raw...)),
	} {
		t.Run(name, func(t *testing.T) {
			l := open("features", 0, head, false, 1<<20)
			defer l.Close()
			items := readAll(t, l)
			if len(items) != 3 {
				t.Fatalf("%d items, want 3", len(items))
			}
			for i, it := range items {
				if it.Record == nil || it.Record.Offset != 100+int64(i) {
					t.Errorf("item %d: %+v", i, it.Record)
				}
			}
			if last := items[2]; last.Unusable == nil {
				t.Errorf("the last one is usable: %+v", last.Record)
			}
		})
	}
}

func TestLarge_endsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	l := open("features", 0, batchOf(kgo.CodecNone, 1, encoded(record("a", "one"))), false, 1<<20)
	defer l.Close()
	cancel()
	if _, err := l.Read(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
}

// FuzzLarge: whatever a batch holds, each of its offsets is given once, and nothing beyond the bound is kept.
func FuzzLarge(f *testing.F) {
	raw := encoded(record("a", "one"), record("b", strings.Repeat("x", 500)))
	for codec := range kgo.CompressionCodecType(5) {
		f.Add(int16(codec), packed(f, codec, raw))
	}
	f.Add(int16(kgo.CodecSnappy), xerial(raw))
	f.Fuzz(func(t *testing.T, attributes int16, wire []byte) {
		const maxRecord = 300
		l := open("features", 0, batchOf(kgo.CompressionCodecType(attributes&7), 2, wire), false, maxRecord) //nolint:gosec // three bits
		defer l.Close()
		items := readAll(t, l)
		if len(items) != 2 {
			t.Fatalf("%d items, want 2", len(items))
		}
		for _, it := range items {
			if len(it.Record.Value) > maxRecord || it.Pointer != nil && (len(it.Pointer.Head) > HeadBytes || len(it.Record.Key) > keptKey) {
				t.Errorf("kept too much: %+v", it)
			}
		}
	})
}
