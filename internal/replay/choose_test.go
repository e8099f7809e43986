package replay

import (
	"fmt"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// Places far apart, in several partitions, at the ends, and of records that are gone are all visited, each once and in order.
func TestLettersAt_S4_8_visitsEachPlaceOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const many = wideGap + 500 // in partition 0
	for i := range many {
		w.writer.Produce(w.ctx(), letter(0, fmt.Sprintf("0-%d-aaaaaaaa", i), "v"), nil)
	}
	must.Do(t, w.writer.Flush(w.ctx()))
	w.die(letter(2, "2-0-aaaaaaaa", "v"), letter(2, "2-1-aaaaaaaa", "v"))
	var offsets kadm.Offsets
	offsets.AddOffset("features.dlq", 0, 3, -1)
	must.Get(kadm.NewClient(w.writer).DeleteRecords(w.ctx(), offsets))(t)
	places := []dlqPlace{{1, 0}, {3, 0}, {4, 0}, {many - 2, 0}, {many - 1, 0}, {1, 2}}
	want := []string{"gone", "0-3-aaaaaaaa", "0-4-aaaaaaaa", fmt.Sprintf("0-%d-aaaaaaaa", many-2), fmt.Sprintf("0-%d-aaaaaaaa", many-1), "2-1-aaaaaaaa"}
	var got []string
	s := w.service()
	err := s.letters(w.ctx(), places, func(n int, l *deadletters.Letter) error {
		id := "gone"
		if l != nil {
			id = l.ID
		}
		if n != len(got) {
			t.Errorf("place %d comes as number %d", n, len(got))
		}
		got = append(got, id)
		return nil
	})
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v\nwant %v, %v", got, want, err)
	}
	// A plan can name a partition that there is not.
	visited := 0
	next := func() (dlqPlace, bool, error) { return dlqPlace{0, 9}, visited == 0, nil }
	err = s.lettersAt(w.ctx(), map[int32]kafka.Span{}, next, func(l *deadletters.Letter) error {
		visited++
		return nil
	})
	if err != nil || visited != 1 {
		t.Errorf("visited %d, %v", visited, err)
	}
}
