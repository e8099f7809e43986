package dlqindex

import (
	"testing"

	"github.com/switchback-geo/switchback/internal/deadletters"
)

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
				if got.Status != want.Status || got.ReprocessCount != want.ReprocessCount || got.ReplayID != "r1" {
					t.Errorf("%s: %+v, want %+v", id, got, want)
				}
				if id != own && (got.Reason != "failed again: IllegalStateException" || got.By != "spring") {
					t.Errorf("%s: %+v", id, got)
				}
			}
			if groups := w.letters(Query{Filter: deadletters.Filter{Statuses: []deadletters.Status{deadletters.Pending}}}); len(groups) != 2 {
				t.Errorf("%d dead letters are pending, want 2", len(groups))
			}
		}
		w.put(decided(0, first, deadletters.Discarded, w.letter(first).DLQ.Offset)) // in view of the record
		w.put(decided(0, last, deadletters.Discarded, 0))                           // in view of an earlier one
		w.sync()
		w.sound()
		if got := w.letter(first).Status; got != deadletters.Discarded {
			t.Errorf("an operator gave it up, and it is %s", got)
		}
		if got := w.letter(last).Status; got != deadletters.Escalated {
			t.Errorf("it died again after an operator ended the wait, and it is %s", got)
		}
	})
}
