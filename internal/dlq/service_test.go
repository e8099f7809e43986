package dlq

import (
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/deadletters"
)

// What prune removes from the topics leaves the index, also when the index comes too late for the
// tombstone; what retention took while it was pending stays to be seen.
func TestIndex_S4_7_forgets_what_was_pruned(t *testing.T) {
	long := start.AddDate(0, 0, -31)
	state := func(id string, status deadletters.Status, at time.Time) *kgo.Record {
		return deadletters.State{ID: id, Status: status, At: at}.Record("features.dlq-status", 0)
	}
	s := open(t, letter(0, "pruned", square), letter(0, "missed", square), letter(0, "lately", square), letter(0, "lost", square), letter(0, "there", square),
		state("pruned", deadletters.Reprocessed, long), state("missed", deadletters.Discarded, long), state("lately", deadletters.Discarded, start), state("there", deadletters.Discarded, long))
	if n := len(listed(t, s, false)); n != 5 {
		t.Fatalf("%d dead letters", n)
	}
	cut(t, s, 0, 4)
	put(t, s, &kgo.Record{Topic: "features.dlq-status", Key: []byte("pruned")}) // of the other, compaction removed the tombstone as well
	if got := listed(t, s, true); !slices.Equal(got, []string{"lately", "lost"}) {
		t.Errorf("gone: %v", got)
	}
	if got := listed(t, s, false); !slices.Equal(got, []string{"there"}) {
		t.Errorf("there: %v", got)
	}
	stats, err := s.Stats(t.Context())
	if err != nil || stats.Letters != 1 || stats.Lost != 1 {
		t.Errorf("%+v, %v", stats.Stats, err)
	}
	if found, err := s.Index().Check(t.Context()); err != nil || found.Total != 0 {
		t.Errorf("%+v, %v", found, err)
	}
}
