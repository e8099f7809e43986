package dlqindex

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
