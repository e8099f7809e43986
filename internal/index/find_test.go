package index

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/deadletters"
)

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
