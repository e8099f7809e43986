package dlqindex

import (
	"bytes"
	"database/sql"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"slices"
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

// So many come in at once that PostgreSQL takes them by COPY, and among them some that are there.
func TestSync_S4_6_many_letters_some_of_which_died_before(t *testing.T) {
	t.Parallel()
	const many = 3 * copyRows
	onEngines(t, func(t *testing.T, place string) {
		w := newWorld(t, place)
		dead := func(from, to int) (out []*kgo.Record) {
			for i := from; i < to; i++ {
				out = append(out, w.dead(0, fmt.Sprint("letter-", i), nil))
			}
			return out
		}
		w.put(dead(0, many)...)
		w.put(state(0, "letter-7", deadletters.Escalated, 3))
		w.sync()
		w.put(dead(many-2, 2*many)...)
		w.put(dead(7, 8)...)
		w.put(dead(many+1, many+2)...) // twice in what comes in
		w.sync()
		w.sound()
		w.agrees()
		for id, deaths := range map[string]int{"letter-7": 2, fmt.Sprint("letter-", many-1): 2, fmt.Sprint("letter-", many): 1, fmt.Sprint("letter-", many+1): 2} {
			l := w.letter(id)
			expect.That(t, l.Deaths == deaths, "%s died %d times, want %d", id, l.Deaths, deaths)
		}
		l := w.letter("letter-7")
		expect.That(t, l.Status == deadletters.Escalated && l.State.ReprocessCount == 3, "a dead letter that died again: %+v", l.State)
	})
}

// edit_of is the place of the record that a letter's last record is an edit of, and NULL as long
// as its bytes are those that died.
func TestSync_S4_6_edit_of_names_the_original(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, place string) {
		w := newWorld(t, place)
		want := func(editOf string, deaths int) {
			t.Helper()
			w.sync()
			w.sound()
			var got sql.NullString
			must.Do(t, w.index.row(t.Context(), "SELECT edit_of FROM @dead_letter_queue WHERE id = 'a'").Scan(&got))
			l := w.letter("a")
			expect.That(t, got.String == editOf && got.Valid == (editOf != "") && l.Edited() == got.Valid && l.Deaths == deaths, "edit_of %+v and %d deaths, want %q and %d", got, l.Deaths, editOf, deaths)
		}
		edit := func(of string) *kgo.Record {
			r := w.dead(1, "a", nil)
			r.Headers = append(r.Headers, kgo.RecordHeader{Key: deadletters.HeaderEditOf, Value: []byte(of)})
			return r
		}
		w.put(w.dead(1, "a", nil))
		want("", 1)
		w.put(edit("dlq/1/0"))
		want("dlq/1/0", 1)
		expect.Equal(t, w.letter("a").EditOf, (header.Position{Topic: "dlq", Partition: 1}), "the original of the edit")
		w.put(edit("dlq/1/1"), w.dead(0, "b", nil))
		want("dlq/1/1", 1)
		w.put(w.dead(1, "a", nil)) // put back, and dead once more
		want("", 2)
	})
}

// S4-8: a letter that failed again in other software is pending, whichever of its record and its state the index reads
// last, and however often: the record alone says so. From the third replay on it is escalated.
func TestSync_S4_8_hears_what_failed_again_in_other_software(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, place string) {
		w := newWorld(t, place)
		const first, last, both, own = "dlq-0-0", "dlq-0-1", "dlq-1-0", "letter-1"
		for _, id := range []string{first, last, both, own} {
			w.put(w.dead(0, id, nil))
		}
		w.put(state(0, first, deadletters.Replaying, 0))
		w.sync()
		w.put(w.theirs(0, first, "r1", 1), w.theirs(0, last, "r1", 3), w.theirs(0, both, "r1", 2), w.theirs(0, own, "r1", 1),
			w.theirs(0, both, "r1", 2)) // Spring may write it twice
		w.put(state(0, both, deadletters.Reprocessed, 2), state(0, own, deadletters.Replaying, 0)) // the consumer's word, and a letter that is its own
		w.sync()
		w.put(state(0, last, deadletters.Replaying, 2))
		for range 2 {
			w.sync()
			w.sound()
			for id, want := range map[string]deadletters.State{
				first: {Status: deadletters.Pending, ReprocessCount: 1}, last: {Status: deadletters.Escalated, ReprocessCount: 3},
				both: {Status: deadletters.Pending, ReprocessCount: 2}, own: {Status: deadletters.Replaying},
			} {
				got := w.letter(id).State
				expect.That(t, got.Status == want.Status && got.ReprocessCount == want.ReprocessCount && got.ReplayID == "r1", "%s: %+v, want %+v", id, got, want)
				expect.That(t, id == own || got.Reason == "failed again: IllegalStateException" && got.By == "spring", "%s: %+v", id, got)
			}
			groups := w.letters(Query{Filter: deadletters.Filter{Statuses: []deadletters.Status{deadletters.Pending}}})
			expect.That(t, len(groups) == 2, "%d dead letters are pending, want 2", len(groups))
		}
		w.put(decided(0, first, deadletters.Discarded, w.letter(first).DLQ.Offset)) // in view of the record
		w.put(decided(0, last, deadletters.Discarded, 0))                           // in view of an earlier one
		w.sync()
		w.sound()
		got := w.letter(first).Status
		expect.That(t, got == deadletters.Discarded, "an operator gave it up, and it is %s", got)
		got = w.letter(last).Status
		expect.That(t, got == deadletters.Escalated, "it died again after an operator ended the wait, and it is %s", got)
	})
}

// One letter must not keep all others out of the index, however long its key and its headers are. What cannot be
// compressed is too long for an index of PostgreSQL from a few kilobytes on.
func TestSync_S4_6_takes_in_letters_with_long_names(t *testing.T) {
	t.Parallel()
	random := make([]byte, 24000)
	seeded := rand.NewChaCha8([32]byte{})
	_, _ = seeded.Read(random) // never fails
	text := base64.StdEncoding.EncodeToString(random)
	onEngines(t, func(t *testing.T, place string) {
		w := newWorld(t, place)
		with := func(id, header string) *kgo.Record { // this software would cut it
			r := w.dead(0, id, nil)
			r.Headers = slices.DeleteFunc(r.Headers, func(h kgo.RecordHeader) bool { return h.Key == header })
			r.Headers = append(r.Headers, kgo.RecordHeader{Key: header, Value: []byte(text)})
			return r
		}
		w.put(
			&kgo.Record{Topic: "dlq", Key: random, Value: []byte("{}")},
			&kgo.Record{Topic: "dlq", Key: []byte(text), Value: []byte("{}")},
			with("id", header.KeyDeadLetterID),
			with("pipeline", header.KeyPipeline),
			with("run", header.KeyRunID),
			with("feature", header.KeyFeatureID),
		)
		done := w.sync()
		expect.That(t, done.Letters == 6, "%+v", done)
		w.sound()
		for _, id := range []string{"pipeline", "run", "dlq-0-2"} {
			l := w.letter(id)
			expect.That(t, len(l.Problems) != 0, "dead letter %s: no word of its header", id)
		}
	})
}

// S4-6: the outcome of a replay that a letter is not in changes no row, in one read or in two, and the check knows that.
func TestSync_S4_6_anOutcomeCountsOnlyInItsReplay(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, place string) {
		for _, apart := range []bool{false, true} {
			w := newWorld(t, place)
			w.put(w.dead(0, "a", nil), w.dead(0, "b", nil))
			w.put(state(0, "a", deadletters.Replaying, 0), outcome(0, "a", deadletters.Reprocessed, 1), state(0, "b", deadletters.Discarded, 0))
			if apart {
				w.sync()
			}
			w.put(outcome(0, "a", deadletters.Duplicate, 1), outcome(0, "b", deadletters.Reprocessed, 1))
			w.sync()
			w.sound()
			a, b := w.letter("a").Status, w.letter("b").Status
			expect.That(t, a == deadletters.Reprocessed && b == deadletters.Discarded, "apart %v: a is %s, b is %s", apart, a, b)
		}
	})
}

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
		expect.That(t, l.Size == 20<<20+13 && l.TooLarge != "" && l.Control.FeatureID == "F large" && l.Status == deadletters.Discarded && l.Problems[0] == l.TooLarge, "%+v", l)
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
		w.index.source.MaxValue = 32 << 20
		done, err := w.index.Sync(t.Context())
		expect.That(t, err == nil && strings.Contains(done.RebuildReason, "read in another way") && w.letter("large").TooLarge == "", "with a larger limit: %+v, %v", done, err)
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
		whole := header.Pointer{Position: p.Position}
		batch.Value, batch.Headers = []byte{}, whole.Append(batch.Headers)
		w.put(r, batch)
		w.sync()
		w.sound()
		l := w.letter("elsewhere")
		expect.That(t, l.Pointer != nil && l.Pointer.Offset == 0 && l.Pointer.Bytes == 8000 && l.Pointer.Value == p.Value && l.Size == 8000 && l.Keyed() && l.KeyHash() != (&deadletters.Letter{}).KeyHash(),
			"%+v", l)
		l = w.letter("batch")
		expect.That(t, l.Pointer != nil && !l.Pointer.Read(), "%+v", l)
		found := w.letters(Query{Filter: deadletters.Filter{Text: "babababa"}})
		expect.That(t, len(found) == 1 && found[0].ID == "elsewhere", "%v", found)
	})
}
