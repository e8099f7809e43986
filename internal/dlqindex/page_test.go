package dlqindex

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/testkit/bombs"
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

// The time of a record whose timestamp is beyond what the client can hold has parts of a millisecond, which a cursor has
// not. Pages go on behind such a letter all the same.
func TestPage_S4_6_goes_on_behind_a_letter_with_an_odd_time(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, place string) {
		w := newWorld(t, place)
		const year10000 = 253402300800000
		odd := bombs.Batch(kgo.CodecNone, time.UnixMilli(year10000), bombs.Record{Value: []byte("x")}, bombs.Record{Value: []byte("y")})
		if _, err := bombs.Produce(t.Context(), w.cl, "dlq", 0, odd); err != nil {
			t.Fatal(err)
		}
		w.put(w.dead(1, "b", nil))
		w.sync()
		w.sound()
		for _, newest := range []bool{false, true} {
			q, got := Query{Filter: deadletters.Filter{Limit: 1}, Newest: newest}, ""
			var after *Cursor
			for range 4 {
				page, err := w.dlq().Page(t.Context(), q, after)
				if err != nil {
					t.Fatal(err)
				}
				got += ids(page.Letters) + " "
				if after = page.Next; after == nil {
					break
				}
			}
			if want := map[bool]string{false: "dlq-0-0 dlq-0-1 b ", true: "b dlq-0-1 dlq-0-0 "}[newest]; got != want {
				t.Errorf("newest %v: pages have %s, want %s", newest, got, want)
			}
		}
	})
}
