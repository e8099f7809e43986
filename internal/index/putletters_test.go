package index

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/deadletters"
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
			if l := w.letter(id); l.Deaths != deaths {
				t.Errorf("%s died %d times, want %d", id, l.Deaths, deaths)
			}
		}
		if l := w.letter("letter-7"); l.Status != deadletters.Escalated || l.State.ReprocessCount != 3 {
			t.Errorf("a dead letter that died again: %+v", l.State)
		}
	})
}

// Indexes that were dropped for a large sync are there again behind it, and so they are when the
// process that dropped them ended before that.
func TestSync_S4_6_indexes_that_were_dropped_come_back(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, place string) {
		w := newWorld(t, place)
		drop := func(coming int64, want bool) {
			t.Helper()
			err := w.store.inTx(t.Context(), func(tx *tx) error {
				dropped, err := tx.dropIndexes(coming)
				if dropped != want {
					t.Errorf("%d come in: dropped %v", coming, dropped)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		w.put(w.dead(0, "a", nil), w.dead(0, "b", nil))
		w.sync()
		drop(2, false)
		if got := w.indexes(); got != len(indexes(w.store.engine)) {
			t.Errorf("%d indexes", got)
		}
		drop(3, true)
		if got := w.indexes(); got != 0 {
			t.Errorf("%d indexes are left", got)
		}
		w.store = w.open(place)
		if got := w.indexes(); got != len(indexes(w.store.engine)) {
			t.Errorf("%d indexes after it was opened again", got)
		}
	})
}

// indexes counts those of the table besides its primary key.
func (w *world) indexes() int {
	w.t.Helper()
	query := "SELECT count(*) FROM sqlite_master WHERE type = 'index' AND name LIKE 'idx_dlq_%'"
	if w.store.engine == PostgreSQL {
		query = "SELECT count(*) FROM pg_indexes WHERE schemaname = 'pipeline' AND indexname LIKE 'idx_dlq_%'"
	}
	var n int
	if err := w.store.row(w.t.Context(), query).Scan(&n); err != nil {
		w.t.Fatal(err)
	}
	return n
}
