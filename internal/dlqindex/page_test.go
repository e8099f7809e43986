package dlqindex

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

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

// A caller that waits for an answer for more than a second is told, once.
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
