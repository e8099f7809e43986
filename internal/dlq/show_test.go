package dlq

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// The hops are what the audit topic says of the letter's first position, and of no other.
func TestShow_S2_5_tells_the_hops_of_a_letter(t *testing.T) {
	l := letter(1, "a", square)
	of := func(source string, decision audit.Decision, attempt int, before time.Duration) *kgo.Record {
		e := audit.Event{Time: start.Add(-before), Pipeline: "features", Source: source, Decision: decision, Attempt: attempt}
		r := must.Get(e.Record("features.audit", 1))(t)
		r.Timestamp = e.Time
		return r
	}
	own, other := "features/1/40", "features/1/41"
	s := open(t, l,
		of(own, audit.Retried, 9, 3*time.Hour), // before the letter came: another topic of that name
		of(own, audit.Retried, 1, 2*time.Hour), of(other, audit.Retried, 1, 2*time.Hour),
		&kgo.Record{Topic: "features.audit", Partition: 1, Value: []byte("{"), Timestamp: start.Add(-90 * time.Minute)},
		of(own, audit.DeadLettered, 2, time.Hour), of(other, audit.DeadLettered, 2, time.Hour),
		of(own, audit.StateChanged, 0, 0), // its state changed then
		deadletters.State{ID: "a", Status: deadletters.Discarded, At: start}.Record("features.dlq-status", 1))
	d, err := s.Show(t.Context(), "a")
	if err != nil || d.HopsErr != nil {
		t.Fatal(err, d.HopsErr)
	}
	var got []string
	for _, e := range d.Hops {
		got = append(got, fmt.Sprintf("%s %d", e.Decision, e.Attempt))
	}
	if want := []string{"retried 1", "dead_lettered 2", "state_changed 0"}; !slices.Equal(got, want) {
		t.Errorf("hops %q, want %q", got, want)
	}
	s.cfg.Topics.Audit = "nowhere"
	if d, err := s.Show(t.Context(), "a"); err != nil || d.HopsErr == nil || d.Letter.ID != "a" {
		t.Errorf("without an audit topic: %v, %v", err, d.HopsErr)
	}
}
