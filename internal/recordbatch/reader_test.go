package recordbatch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/switchback-geo/switchback/internal/testkit/bombs"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

var at = time.UnixMilli(1_790_000_000_000)

var codecsUnderTest = map[string]kgo.CompressionCodecType{
	"none": kgo.CodecNone, "gzip": kgo.CodecGzip, "snappy": kgo.CodecSnappy, "lz4": kgo.CodecLz4, "zstd": kgo.CodecZstd,
}

// answer returns a broker's response with batches, the first of them at an offset.
func answer(from int64, batches ...*kmsg.RecordBatch) *kmsg.FetchResponseTopicPartition {
	out := &kmsg.FetchResponseTopicPartition{Partition: 3}
	for _, b := range batches {
		b.FirstOffset = from
		from += int64(b.LastOffsetDelta) + 1
		out.RecordBatches = append(out.RecordBatches, bombs.Bytes(b)...)
	}
	return out
}

// results is what a reader returned.
type results struct {
	records []*kgo.Record
	large   []*Large
	next    int64
}

func read(t *testing.T, a *kmsg.FetchResponseTopicPartition, limits Limits, from, end int64) results {
	t.Helper()
	r := NewReader("t", 3, limits)
	defer r.Close()
	var h results
	next := must.Get(r.Each(t.Context(), a, from, end,
		func(r *kgo.Record) error { h.records = append(h.records, r); return nil },
		func(l *Large) error { h.large = append(h.large, l); return nil }))(t)
	h.next = next
	return h
}

func some() []bombs.Record {
	return []bombs.Record{
		{Key: []byte("a"), Value: []byte("1"), Headers: []kgo.RecordHeader{{Key: "h", Value: []byte("x")}, {Key: "h", Value: nil}}},
		{Key: []byte("b"), Value: []byte(`{"pad":`), Blanks: 3 << 20, Headers: []kgo.RecordHeader{{Key: "id", Value: []byte("17")}}},
		{Value: []byte("3")},
		{Key: []byte("d"), Delta: 7},
		{Key: []byte{}, Value: []byte{}, Delta: 9},
	}
}

func TestEach_S0_5_gives_records_as_the_client_does(t *testing.T) {
	for name, codec := range codecsUnderTest {
		t.Run(name, func(t *testing.T) {
			a := answer(40, bombs.Batch(codec, at, some()...), bombs.Batch(codec, at, some()...))
			want, next := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{Offset: 42, Topic: "t", Partition: 3}, a, kgo.DefaultDecompressor(), nil)
			h := read(t, a, Limits{Record: 8 << 20}, 42, math.MaxInt64)
			must.That(t, len(h.large) == 0 && h.next == next && len(h.records) == len(want.Records), "%d records, %d large, next %d; want %d, next %d", len(h.records), len(h.large), h.next, len(want.Records), next)
			for i, r := range h.records {
				want := *want.Records[i]
				expect.That(t, same(r, &want), "record %d is %+v, want %+v", i, r, &want)
			}
		})
	}
}

func same(a, b *kgo.Record) bool {
	x, y := *a, *b
	x.Context, y.Context = nil, nil
	x.Attrs, y.Attrs = kgo.RecordAttrs{}, kgo.RecordAttrs{} // the compression is lost
	x.ProducerEpoch, x.ProducerID, x.LeaderEpoch = y.ProducerEpoch, y.ProducerID, y.LeaderEpoch
	return reflect.DeepEqual(x, y) && a.Attrs.TimestampType() == b.Attrs.TimestampType()
}

func TestEach_S0_5_names_what_is_too_large_and_gives_the_rest(t *testing.T) {
	for name, codec := range codecsUnderTest {
		t.Run(name, func(t *testing.T) {
			h := read(t, answer(40, bombs.Batch(codec, at, some()...)), Limits{Record: 1 << 20}, 40, math.MaxInt64)
			must.That(t, len(h.records) == 4 && len(h.large) == 1 && h.next == 50, "%d records, %d large, next %d", len(h.records), len(h.large), h.next)
			l := h.large[0]
			head := append([]byte(`{"pad":`), bytes.Repeat([]byte(" "), headBytes-7)...)
			expect.That(t, l.Offset == 41 && l.Last == 41 && string(l.Key) == "b" && l.Value == nil && l.Bytes == 3<<20+7 && bytes.Equal(l.Head, head) && l.SHA256 == sha256.Sum256(append([]byte(`{"pad":`), bytes.Repeat([]byte(" "), 3<<20)...)) && l.KeySHA256 == [sha256.Size]byte{} && len(l.Headers) == 1 && string(l.Headers[0].Value) == "17" && l.Timestamp.Equal(at) && !l.Unread && l.Topic == "t" && l.Partition == 3,
				"%+v: %s", l, l)
			want := "t/3/41 is too large: it has 31457"
			expect.That(t, strings.HasPrefix(l.String(), want), "%s, want %s…", l, want)
		})
	}
}

func TestEach_S0_5_names_keys_and_headers_that_are_too_large(t *testing.T) {
	many := make([]kgo.RecordHeader, 30_000)
	many[29_000] = kgo.RecordHeader{Key: "ours", Value: []byte("1")}
	many[29_999] = kgo.RecordHeader{Key: "ours-too"}
	for name, c := range map[string]struct {
		record  bombs.Record
		key     bool
		headers int
		why     string
	}{
		"key":               {bombs.Record{Key: make([]byte, 2<<20), Value: []byte("v"), Headers: many[:2]}, false, 2, "it has 2097161 bytes, more than 1048576; its key has 2097152"},
		"headers":           {bombs.Record{Key: []byte("k"), Headers: []kgo.RecordHeader{{Key: "h", Value: make([]byte, 2<<20)}}}, true, 0, "its 1 headers take 2097198 bytes in memory, more than 1048576"},
		"many headers":      {bombs.Record{Key: []byte("k"), Value: []byte("v"), Headers: many}, true, 2, "its 30000 headers take 1260013 bytes in memory, more than 1048576"},
		"as many as can be": {bombs.Record{Key: []byte("k"), Blanks: 1 << 20, Headers: many[:20_000]}, true, 20_000, "it has 1048585 bytes, more than 1048576"},
	} {
		t.Run(name, func(t *testing.T) {
			h := read(t, answer(0, bombs.Batch(kgo.CodecZstd, at, c.record, bombs.Record{Value: []byte("next")})),
				Limits{Record: 1 << 20, Keep: func(name string) bool { return strings.HasPrefix(name, "ours") }}, 0, 2)
			must.That(t, len(h.large) == 1 && len(h.records) == 1 && h.next == 2, "%d large, %d records, next %d", len(h.large), len(h.records), h.next)
			sum := sha256.Sum256(c.record.Key)
			l := h.large[0]
			expect.That(t, (c.key || l.KeySHA256 == sum) && (!c.key || l.KeySHA256 == [sha256.Size]byte{}), "the hash of the key: %x", l.KeySHA256)
			l = h.large[0]
			expect.That(t, l.Why == c.why && (l.Key != nil) == c.key && len(l.Headers) == c.headers, "%q, key %d, %d headers", l.Why, len(l.Key), len(l.Headers))
		})
	}
}

// A batch that cannot be read is reported with its range of offsets.
func TestEach_S0_5_names_the_offsets_of_what_cannot_be_read(t *testing.T) {
	broken := func(codec kgo.CompressionCodecType, stored string) *kmsg.RecordBatch {
		b := bombs.Batch(kgo.CodecNone, at, some()...)
		b.Attributes, b.Records = int16(codec), []byte(stored)
		return b
	}
	window := "\x28\xb5\x2f\xfd\x00\x90\x09\x00\x00a" // zstd with a window of 256 MiB, and one byte
	twice := bombs.Batch(kgo.CodecNone, at, bombs.Record{Value: []byte("1")})
	twice.Records = append(twice.Records, twice.Records...)
	twice.NumRecords, twice.LastOffsetDelta = 2, 9
	late := bombs.Batch(kgo.CodecGzip, at, some()...)
	late.Records = late.Records[:len(late.Records)-20]
	for name, c := range map[string]struct {
		batch   *kmsg.RecordBatch
		limits  Limits
		first   int64
		records int
		why     string
	}{
		"no gzip":         {broken(kgo.CodecGzip, "no"), Limits{Record: 1 << 20}, 40, 0, "unexpected EOF"},
		"no snappy":       {broken(kgo.CodecSnappy, "\xff\xff\xff\xff\xff\xff"), Limits{Record: 1 << 20}, 40, 0, "s2: corrupt input"},
		"a snappy bomb":   {broken(kgo.CodecSnappy, "\x80\x80\x80\x80\x04no"), Limits{Record: 1 << 20}, 40, 0, "it decompresses to more than 67108864 bytes in one block of snappy"},
		"no lz4":          {broken(kgo.CodecLz4, "nothing"), Limits{Record: 1 << 20}, 40, 0, "lz4: bad magic number"},
		"no zstd":         {broken(kgo.CodecZstd, "nothing"), Limits{Record: 1 << 20}, 40, 0, "magic number mismatch"},
		"a large window":  {broken(kgo.CodecZstd, window), Limits{Record: 1 << 20}, 40, 0, "window size exceeded"},
		"unknown":         {broken(7, "nothing"), Limits{Record: 1 << 20}, 40, 0, "unknown compression codec 7"},
		"no records":      {broken(kgo.CodecNone, ""), Limits{Record: 1 << 20}, 40, 0, "unexpected EOF"},
		"offsets twice":   {twice, Limits{Record: 1 << 20}, 41, 1, "its offset is 40, and that of the previous one 40"},
		"records of zero": {broken(kgo.CodecNone, "\x00\x00\x00\x00\x00\x00"), Limits{Record: 1 << 20}, 40, 0, "it is not a record"},
		"cut off":         {late, Limits{Record: 8 << 20}, 42, 2, "unexpected EOF"},
		"too much":        {bombs.Batch(kgo.CodecZstd, at, some()...), Limits{Record: 1 << 20, Batch: 2 << 20}, 41, 1, "it decompresses to more than 2097152 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			h := read(t, answer(40, c.batch, bombs.Batch(kgo.CodecNone, at, bombs.Record{Value: []byte("next")})), c.limits, 40, math.MaxInt64)
			must.That(t, len(h.large) == 1 && len(h.records) == c.records+1 && h.next == 51 && h.records[c.records].Offset == 50, "%d large, %d records, next %d: %v", len(h.large), len(h.records), h.next, h.large)
			l := h.large[0]
			expect.That(t, l.Unread && l.Offset == c.first && l.Last == 49 && l.Stored != 0 && strings.Contains(l.Why, c.why), "%+v: %s", l, l)
		})
	}
}

func TestEach_S0_5_a_damaged_batch_is_an_error_that_names_it(t *testing.T) {
	a := answer(40, bombs.Batch(kgo.CodecNone, at, some()...), bombs.Batch(kgo.CodecNone, at, bombs.Record{Value: []byte("next")}))
	a.RecordBatches[len(a.RecordBatches)-1] ^= 1
	r := NewReader("t", 3, Limits{Record: 8 << 20})
	take, refuse := func(*kgo.Record) error { return nil }, func(l *Large) error { return errors.New(l.String()) }
	next, err := r.Each(t.Context(), a, 40, math.MaxInt64, take, refuse)
	expect.That(t, err == nil && next == 50, "the batch before it: next %d, %v", next, err)
	next, err = r.Each(t.Context(), a, 50, math.MaxInt64, take, refuse)
	expect.That(t, next == 50 && err != nil && strings.Contains(err.Error(), "the batch at offset 50 is damaged"), "next %d, %v", next, err)
}

// The marker at offset 6 belongs to a transaction that wrote nothing to the partition.
func TestEach_leaves_out_what_was_aborted(t *testing.T) {
	transaction := func(b *kmsg.RecordBatch, producer int64, bits int16) *kmsg.RecordBatch {
		b.ProducerID, b.Attributes = producer, b.Attributes|transactional|bits
		return b
	}
	data := func(producer int64, value string) *kmsg.RecordBatch {
		return transaction(bombs.Batch(kgo.CodecZstd, at, bombs.Record{Value: []byte(value)}), producer, 0)
	}
	marker := func(producer int64, kind byte) *kmsg.RecordBatch {
		return transaction(bombs.Batch(kgo.CodecNone, at, bombs.Record{Key: []byte{0, 0, 0, kind}, Value: make([]byte, 6)}), producer, controlling)
	}
	bomb := data(1, "aborted")
	bomb.Records = []byte("no zstd: it is not even looked at")
	a := answer(0,
		bomb, data(2, "c1"), bombs.Batch(kgo.CodecNone, at, bombs.Record{Value: []byte("plain")}), marker(1, 0),
		data(1, "c2"), marker(1, 1), marker(1, 0), data(1, "aborted too"), marker(2, 1), marker(1, 0), data(1, "c3"))
	a.AbortedTransactions = []kmsg.FetchResponseTopicPartitionAbortedTransaction{{ProducerID: 1, FirstOffset: 7}, {ProducerID: 1, FirstOffset: 0}}
	h := read(t, a, Limits{Record: 1 << 20}, 0, math.MaxInt64)
	var got []string
	for _, r := range h.records {
		got = append(got, string(r.Value))
	}
	expect.That(t, strings.Join(got, " ") == "c1 plain c2 c3" && len(h.large) == 0 && h.next == 11, "%q, %d large, next %d", got, len(h.large), h.next)
}

// S2 extends snappy by repeats, which no Kafka client writes: a few hundred bytes would expand to 100 MiB before a
// record is read.
func TestEach_S0_5_takesNoRepeatsOfS2ForSnappy(t *testing.T) {
	block := s2.Encode(nil, make([]byte, maxBlock-1))
	framed := binary.BigEndian.AppendUint32([]byte(xerialPrefix+"\x00\x00\x00\x01\x00\x00\x00\x01"), uint32(len(block)))
	for name, stored := range map[string][]byte{"block": block, "frame": append(framed, block...)} {
		t.Run(name, func(t *testing.T) {
			b := bombs.Batch(kgo.CodecNone, at, some()...)
			b.Attributes, b.Records = int16(kgo.CodecSnappy), stored
			h := read(t, answer(40, b), Limits{Record: 1 << 20}, 40, math.MaxInt64)
			must.That(t, len(h.large) == 1 && strings.Contains(h.large[0].Why, "more than the format allows"), "%v", h.large)
		})
	}
}

func TestEach_ends_with_its_context_and_with_the_error_of_a_callback(t *testing.T) {
	a := answer(0, bombs.Batch(kgo.CodecZstd, at, bombs.Record{Blanks: 64 << 20}), bombs.Batch(kgo.CodecZstd, at, some()...))
	r := NewReader("t", 3, Limits{Record: 1 << 20})
	defer r.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	nothing := func(*kgo.Record) error { return nil }
	next, err := r.Each(ctx, a, 0, math.MaxInt64, nothing, func(*Large) error { return nil })
	expect.That(t, errors.Is(err, context.Canceled) && next == 0, "next %d, %v", next, err)
	stop := errors.New("stop")
	if next, err := r.Each(t.Context(), a, 0, math.MaxInt64, nothing, func(*Large) error { return stop }); err != stop || next != 0 { //nolint:errorlint // as it is
		t.Errorf("next %d, %v", next, err)
	}
	if next, err := r.Each(t.Context(), a, 1, math.MaxInt64, func(*kgo.Record) error { return stop }, nil); err != stop || next != 1 { //nolint:errorlint // as it is
		t.Errorf("next %d, %v", next, err)
	}
}

func TestEach_reads_no_further_than_its_end(t *testing.T) {
	a := answer(40, bombs.Batch(kgo.CodecGzip, at, some()...))
	h := read(t, a, Limits{Record: 1 << 20}, 40, 41)
	expect.That(t, len(h.records) == 1 && len(h.large) == 0 && h.next == 41, "%+v", h)
	h = read(t, a, Limits{Record: 1 << 20}, 41, 42)
	expect.That(t, len(h.records) == 0 && len(h.large) == 1 && h.next == 42, "%+v", h)
	h = read(t, a, Limits{Record: 1 << 20}, 43, 46)
	expect.That(t, len(h.records) == 0 && h.next == 46, "%+v", h)
	half := &kmsg.FetchResponseTopicPartition{RecordBatches: a.RecordBatches[:len(a.RecordBatches)-1]}
	h = read(t, half, Limits{Record: 1 << 20}, 40, 50)
	expect.That(t, len(h.records) == 0 && h.next == 40, "%+v", h)
}

func TestCopy_S0_5_writes_one_value_whatever_its_size(t *testing.T) {
	for name, codec := range codecsUnderTest {
		t.Run(name, func(t *testing.T) {
			a := answer(40, bombs.Batch(codec, at, some()...))
			r := NewReader("t", 3, Limits{Record: 1 << 10})
			defer r.Close()
			var out bytes.Buffer
			l := must.Get(r.Copy(t.Context(), a, 41, &out))(t)
			expect.That(t, l.Offset == 41 && l.Bytes == 3<<20+7 && out.Len() == 3<<20+7 && strings.HasPrefix(out.String(), `{"pad": `) && string(l.Key) == "b" && len(l.Headers) == 1, "%s, %d bytes", l, out.Len())
			for offset, want := range map[int64]int64{40: 1, 42: 1, 47: -1, 49: 0} {
				out.Reset()
				l, err := r.Copy(t.Context(), a, offset, &out)
				expect.That(t, err == nil && l.Offset == offset && l.Bytes == want && int64(out.Len()) == max(want, 0), "%d: %v, %v", offset, l, err)
			}
			for _, offset := range []int64{39, 43, 50} {
				_, err := r.Copy(t.Context(), a, offset, &out)
				expect.That(t, errors.Is(err, ErrNoRecord), "%d: %v", offset, err)
			}
			full := errors.New("no space")
			_, err := r.Copy(t.Context(), a, 41, failing{full})
			expect.That(t, errors.Is(err, full) && !strings.Contains(err.Error(), "batch"), "%v", err)
		})
	}
	_, err := NewReader("t", 3, Limits{}).Copy(t.Context(), &kmsg.FetchResponseTopicPartition{}, 0, io.Discard)
	expect.That(t, errors.Is(err, ErrNoRecord), "an empty answer: %v", err)
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// messages returns message sets of format 1, which brokers may still have from before 2017.
func messages(value string, compressed bool) []byte {
	m := kmsg.MessageV1{Magic: 1, Timestamp: at.UnixMilli(), Key: []byte("old"), Value: []byte(value), Offset: 40}
	seal := func(m *kmsg.MessageV1) []byte {
		text := m.AppendTo(nil)
		m.MessageSize = int32(len(text) - entryHead)
		m.CRC = int32(crc32.ChecksumIEEE(m.AppendTo(nil)[16:]))
		return m.AppendTo(nil)
	}
	if !compressed {
		return seal(&m)
	}
	var stored bytes.Buffer
	w := gzip.NewWriter(&stored)
	_, _ = w.Write(seal(&m))
	_ = w.Close()
	outer := kmsg.MessageV1{Magic: 1, Attributes: 1, Timestamp: at.UnixMilli(), Value: stored.Bytes(), Offset: 40}
	return seal(&outer)
}

func TestEach_reads_old_message_sets(t *testing.T) {
	for _, compressed := range []bool{false, true} {
		t.Run(fmt.Sprint(compressed), func(t *testing.T) {
			a := &kmsg.FetchResponseTopicPartition{RecordBatches: messages("small", compressed)}
			h := read(t, a, Limits{Record: 1 << 10}, 40, 41)
			expect.That(t, len(h.records) == 1 && string(h.records[0].Value) == "small" && h.next == 41, "%+v", h)
			a.RecordBatches = messages(strings.Repeat("large", 1000), compressed)
			h = read(t, a, Limits{Record: 1 << 10}, 40, 41)
			expect.That(t, len(h.large) == 1 && h.large[0].Unread == compressed && h.next == 41, "%+v", h)
			var out bytes.Buffer
			l, err := NewReader("t", 3, Limits{Record: 1 << 10}).Copy(t.Context(), a, 40, &out)
			expect.That(t, err == nil && out.Len() == 5000 && l.Bytes == 5000, "%v, %v, %d bytes", l, err, out.Len())
		})
	}
}

// Any batch is either decoded as the client decodes it, or reported.
func FuzzEach(f *testing.F) {
	for _, codec := range codecsUnderTest {
		b := bombs.Batch(codec, at, some()[0], some()[2], some()[3])
		f.Add(b.Attributes, b.NumRecords, b.LastOffsetDelta, b.Records)
	}
	f.Add(int16(0), int32(1), int32(0), binary.AppendVarint(nil, math.MinInt64))
	f.Fuzz(func(t *testing.T, attributes int16, n, delta int32, records []byte) {
		b := &kmsg.RecordBatch{Magic: 2, Attributes: attributes &^ (transactional | controlling), NumRecords: n, LastOffsetDelta: delta, ProducerID: -1, Records: records}
		a := answer(40, b)
		want, next := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{Offset: 40, Topic: "t", Partition: 3}, a, bounded{t.Context(), newStreams(usualWindow, maxBlock), 1 << 20}, nil)
		r := NewReader("t", 3, Limits{Record: 1 << 16, Batch: 1 << 20})
		defer r.Close()
		var h results
		last := int64(39)
		got, err := r.Each(t.Context(), a, 40, math.MaxInt64,
			func(r *kgo.Record) error { h.records = append(h.records, r); return nil },
			func(l *Large) error {
				must.That(t, l.Last >= l.Offset && l.Offset > last, "%+v behind %d", l, last)
				h.large, last = append(h.large, l), l.Last
				return nil
			})
		if want.Err != nil || int32(len(want.Records)) != n || err != nil || len(h.large) > 0 {
			must.That(t, err != nil || got != 40 || n <= 0 || delta < 0, "neither read nor named: %+v", h)
			return
		}
		must.That(t, got == next && len(h.records) == len(want.Records), "%d records up to %d, want %d up to %d", len(h.records), got, len(want.Records), next)
		for i := range h.records {
			must.That(t, same(h.records[i], want.Records[i]), "record %d is %+v, want %+v", i, h.records[i], want.Records[i])
		}
	})
}
