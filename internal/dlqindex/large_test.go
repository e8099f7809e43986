package dlqindex

import (
	"bytes"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/testkit/bombs"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// drop sends a batch as it is.
func (w *world) drop(records ...bombs.Record) {
	w.t.Helper()
	must.Get(bombs.Produce(w.t.Context(), w.cl, "dlq", 0, bombs.Batch(kgo.CodecZstd, at, records...)))(w.t)
}

func TestSync_S0_5_takes_in_what_is_too_large_to_index(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, place string) {
		w := newWorld(t, place)
		small, large := w.dead(0, "small", nil), w.dead(0, "large", nil)
		w.drop(bombs.Record{Key: small.Key, Value: small.Value, Headers: small.Headers},
			bombs.Record{Key: large.Key, Value: []byte("the beginning"), Blanks: 20 << 20, Headers: large.Headers}, bombs.Record{Value: []byte("last")})
		must.Get(bombs.Produce(t.Context(), w.cl, "dlq", 0, brokenBatch(w)))(t)
		w.put(w.dead(0, "behind", nil), state(0, "large", deadletters.Discarded, 0))
		for range 2 { // the second finds nothing new
			w.sync()
			w.sound()
		}
		l := w.letter("large")
		expect.That(t, l.Size == 20<<20+13 && l.TooLarge != "" && l.Control.FeatureID == "F large" && l.Status == deadletters.Discarded && l.Problems[0] == l.TooLarge,
			"%+v", l)
		l = w.letter("dlq-0-3")
		expect.That(t, l.Last == 5 && strings.Contains(l.TooLarge, "dlq/0 offsets 3 to 5"), "%+v", l)
		w.letter("behind")
		for text, want := range map[string]string{"the beginning": "large", "too large to index": "", "last": "dlq-0-2"} {
			found := w.letters(Query{Filter: deadletters.Filter{Text: text}})
			expect.That(t, (want != "" || len(found) == 0) && (want == "" || len(found) == 1 && found[0].ID == want), "%s: %v", text, found)
		}
		stats, err := w.dlq().Stats(t.Context())
		expect.That(t, err == nil && stats.Letters == 5, "%+v, %v", stats, err)
		_, raw, err := w.dlq().Letter(t.Context(), "large")
		expect.That(t, err == nil && (strings.HasPrefix(raw, `{"too_large": "too large to index`) || strings.HasPrefix(raw, `{"too_large":"too large to index`)), "%s, %v", raw, err)
		larger := source
		larger.MaxValue = 32 << 20
		done, err := w.store.Sync(t.Context(), w.cl, larger, nil)
		expect.That(t, err == nil && done.Anew != "" && w.letter("large").TooLarge == "", "with a larger limit: %+v, %v", done, err)
	})
}

// brokenBatch is one of three records that cannot be decompressed.
func brokenBatch(w *world) (b *kmsg.RecordBatch) {
	r := w.dead(0, "nobody", nil)
	b = bombs.Batch(kgo.CodecNone, at, bombs.Record{Headers: r.Headers}, bombs.Record{}, bombs.Record{})
	b.Attributes, b.Records = int16(kgo.CodecZstd), []byte("no zstd")
	return b
}

func TestSync_S0_5_keeps_where_the_original_of_a_letter_lies(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, place string) {
		w := newWorld(t, place)
		value := bytes.Repeat([]byte("ab"), 4000)
		r := w.dead(1, "elsewhere", nil)
		p := header.PointTo(header.Position{Topic: "features", Partition: 1, Offset: 0}, r.Key, value, false)
		r.Key, r.Value, r.Headers = nil, []byte{}, p.Append(r.Headers)
		batch := w.dead(1, "batch", nil)
		whole := header.PointToBatch(p.Position, 17, 900)
		batch.Value, batch.Headers = []byte{}, whole.Append(batch.Headers)
		w.put(r, batch)
		w.sync()
		w.sound()
		l := w.letter("elsewhere")
		expect.That(t, l.Pointer != nil && l.Pointer.Offset == 0 && l.Pointer.Bytes == 8000 && l.Pointer.Value == p.Value && l.Size == 8000 && l.Keyed() && l.KeyHash() != (&deadletters.Letter{}).KeyHash(),
			"%+v", l)
		if l = w.letter("batch"); l.Pointer == nil || l.Pointer.Last != 17 || l.Pointer.Read() {
			t.Errorf("%+v", l)
		}
		found := w.letters(Query{Filter: deadletters.Filter{Text: "babababa"}})
		expect.That(t, len(found) == 1 && found[0].ID == "elsewhere", "%v", found)
	})
}
