package dlqindex

import (
	"testing"

	"github.com/switchback-geo/switchback/internal/deadletters"
)

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
			if a, b := w.letter("a").Status, w.letter("b").Status; a != deadletters.Reprocessed || b != deadletters.Discarded {
				t.Errorf("apart %v: a is %s, b is %s", apart, a, b)
			}
		}
	})
}
