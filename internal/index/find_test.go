package index

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/testkit/lettermodel"
)

// Each filter finds among the letters that are gone what it found when they were there, and a
// limit gives the first of what there is without it.
func TestFind_S4_6_filters_find_what_is_gone_and_the_first_of_all(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, place string) {
		w := newWorld(t, place)
		random := rand.New(rand.NewPCG(28, 4))
		w.put(w.history(random, 150)...)
		w.sync()
		before := map[string][]string{}
		model, err := lettermodel.Load(t.Context(), w.cl, "dlq", "status")
		if err != nil {
			t.Fatal(err)
		}
		for name, f := range filters() {
			before[name] = told(model.Select(f))
		}
		for p := range int32(3) {
			w.cut(p, 10)
		}
		if done := w.sync(); done.Gone == 0 {
			t.Fatal("nothing is gone")
		}
		w.sound()
		for name, f := range filters() {
			there, gone := w.letters(Query{Filter: f}), w.letters(Query{Filter: f, Gone: true})
			if both := told(slices.Concat(there, gone)); !slices.Equal(inOrder(both), inOrder(before[name])) {
				t.Errorf("%s: %s", name, difference(inOrder(both), inOrder(before[name])))
			}
			groups, err := w.dlq().Groups(t.Context(), Query{Filter: f, Gone: true})
			if err != nil {
				t.Fatal(err)
			}
			if want := deadletters.GroupLetters(gone); !reflect.DeepEqual(groups, want) && len(groups)+len(want) > 0 {
				t.Errorf("%s: groups that are gone: %s", name, difference(each(groups), each(want)))
			}
			for _, limit := range []int{1, 3, 1000} {
				f.Limit = limit
				if first := told(w.letters(Query{Filter: f})); !slices.Equal(first, told(there)[:min(limit, len(there))]) {
					t.Errorf("%s, at most %d: %s", name, limit, difference(first, told(there)))
				}
			}
		}
	})
}

func inOrder(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return list
}

// A text that blocks know nothing of, and that only the last of many letters has, is found behind
// the letters that are asked first; and whoever waits is told how far it is.
func TestFind_S4_6_a_rare_text_behind_many_candidates(t *testing.T) {
	t.Parallel()
	w := newWorld(t, InMemory)
	const many = fewCandidates + 500
	records := make([]*kgo.Record, many)
	for i := range records {
		records[i] = w.dead(int32(i%3), fmt.Sprint("letter-", i), nil)
	}
	records[many-1].Value = []byte(`{"zq":1}`)
	w.put(records...)
	w.sync()
	told, total := 0, 0
	q := Query{Filter: deadletters.Filter{Text: "zq", Limit: 2}, Looked: func(done, of int) { told, total = done, of }}
	if got := ids(w.letters(q)); got != fmt.Sprint("letter-", many-1) {
		t.Errorf("found %q", got)
	}
	if told != total || total != 3*((many/3+blockLetters)/blockLetters) {
		t.Errorf("told of %d blocks of %d", told, total)
	}
}
