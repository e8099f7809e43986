package dlqindex

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/switchback-geo/switchback/internal/deadletters"
)

// Letters that die while somebody turns pages neither repeat nor hide others.
func TestPage_S4_6_a_cursor_stays_where_it_is(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, place string) {
		w := newWorld(t, place)
		w.put(w.dead(0, "a", nil), w.dead(1, "b", nil), w.dead(2, "c", nil))
		w.sync()
		q := Query{Filter: deadletters.Filter{Limit: 2}, Newest: true}
		first, err := w.dlq().Page(t.Context(), q, nil)
		if err != nil || ids(first.Letters) != "b c" || first.Total != 3 || first.Next == nil {
			t.Fatalf("%+v, %v", first, err)
		}
		w.put(w.dead(0, "d", nil), w.dead(1, "b", nil)) // b is read, and dies again
		w.sync()
		second, err := w.dlq().Page(t.Context(), q, first.Next)
		if err != nil || ids(second.Letters) != "a" || second.Next != nil {
			t.Errorf("%+v, %v", second, err)
		}
	})
}

func TestCursor_S4_6_refuses_what_is_none(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "1.2", "1.2.3.4", "1.2.x", " 1.2.3", "1.99999999999.3"} {
		if c, err := ParseCursor(text); !errors.Is(err, ErrCursor) {
			t.Errorf("%q: %v, %v", text, c, err)
		}
	}
	if c, err := ParseCursor("-5.2.3"); err != nil || c != (Cursor{-5, 2, 3}) {
		t.Errorf("%v, %v", c, err)
	}
}

// Whoever waits for an answer for more than a second is told, once.
func TestQuery_S4_6_tells_that_an_answer_takes_long(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		told := 0
		q := Query{Slow: func() { told++ }}
		stop := q.watch()
		time.Sleep(patience / 2)
		stop()
		time.Sleep(2 * patience)
		if told != 0 {
			t.Errorf("told %d times of a quick answer", told)
		}
		stop = q.watch()
		time.Sleep(3 * patience)
		stop()
		if told != 1 {
			t.Errorf("told %d times of a slow answer", told)
		}
	})
}
