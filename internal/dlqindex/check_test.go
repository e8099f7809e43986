package dlqindex

import (
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// Whatever is changed behind the index's back, a check finds it.
func TestCheck_S4_6_finds_what_does_not_agree_with_the_topics(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, place string) {
		w := newWorld(t, place)
		w.put(w.dead(0, "a", nil), w.dead(1, "b", nil), w.dead(2, "c", nil))
		w.put(state(0, "a", deadletters.Discarded, 0))
		for kind, statement := range map[string]string{
			"missing":                        "DELETE FROM @dead_letter_queue WHERE id = 'b'",
			"surplus":                        "UPDATE @dead_letter_queue SET id = 'x' WHERE id = 'b'",
			"differs":                        "UPDATE @dead_letter_queue SET error_message = 'another' WHERE id = 'c'",
			"differs: dead letter c":         "UPDATE @dead_letter_queue SET raw_record = '{}' WHERE id = 'c'",
			"state: dead letter a":           "UPDATE @dead_letter_queue SET status = 'pending' WHERE id = 'a'",
			"state":                          "UPDATE @dead_letter_queue SET resolution_note = 'none' WHERE id = 'a'",
			"count: letters per group":       "UPDATE @dead_letter_count SET replayed = 7",
			"count: letters per group and s": "UPDATE @dead_letter_queue SET gone = 1 WHERE id = 'a'",
			"count: letters":                 "UPDATE @dead_letter_queue SET group_id = 'another' WHERE id = 'b'",
			"count: pending letters per day": "DELETE FROM @dead_letter_day",
		} {
			t.Run(kind, func(t *testing.T) {
				w.t = t
				w.sync()
				w.sound()
				must.Do(t, w.store.inTx(t.Context(), func(tx *tx) error { return tx.exec(statement) }))
				found, err := w.store.Check(t.Context(), w.cl, source)
				if err != nil || found.Total == 0 || !strings.Contains(strings.Join(found.Faults, "\n"), kind) {
					t.Errorf("found %+v, %v", found, err)
				}
				must.Do(t, w.store.Forget(t.Context(), w.cluster, "dlq"))
			})
		}
	})
}

func TestCheck_S4_6_looks_only_as_far_as_the_index_is(t *testing.T) {
	t.Parallel()
	w := newWorld(t, InMemory)
	w.put(w.dead(0, "a", nil))
	w.sync()
	w.put(w.dead(0, "b", nil), w.dead(0, "a", nil), state(0, "a", deadletters.Discarded, 0))
	w.sound()
	if n := len(w.letters(Query{})); n != 1 {
		t.Errorf("%d dead letters before the next sync", n)
	}
}
