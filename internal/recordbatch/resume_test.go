package recordbatch

import (
	"math"
	"reflect"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/switchback-geo/switchback/internal/testkit/bombs"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// Who asks for a batch part by part gets each record once, and the batch is decompressed once.
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
		each(a, from, from+3) // and one is left out
	}
	expect.That(t, len(seen) == 45 && seen[0] == 40 && seen[44] == 98 && r.opened != nil && r.opened.left == 1, "%v, %+v", seen, r.opened)
	each(a, 99, 100)
	expect.That(t, r.opened == nil, "a batch that was read to its end is kept")
	each(a, 50, 51)
	each(other, 100, 101)
	each(a, 51, 52) // the decompressor had the other one meanwhile
	each(a, 45, 46) // back
	got := seen[45:]
	expect.That(t, reflect.DeepEqual(got, []int64{99, 50, 100, 51, 45}), "%v", got)
}

// A callback that has enough has taken what it got. Each record comes once, small or large, and the batch is decompressed once.
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
