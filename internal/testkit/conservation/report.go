package conservation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/topiclog"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Totals sums the places over all input records.
func (a *Account) Totals() (inputs int, sum Place) {
	for _, p := range a.places {
		sum.Unread += p.Unread
		sum.Waiting += p.Waiting
		sum.Output += p.Output
		sum.DeadLetters += p.DeadLetters
		sum.Replays += p.Replays
		sum.Closed += p.Closed
	}
	return len(a.places), sum
}

// Of returns the place of one input record, by its position topic/partition/offset.
func (a *Account) Of(position string) (Place, bool) {
	p, ok := a.places[position]
	if !ok {
		return Place{}, false
	}
	return *p, true
}

// Faults returns all violations, ordered by input record.
func (a *Account) Faults() []Fault {
	return slices.SortedFunc(slices.Values(a.faults), func(x, y Fault) int {
		return cmp.Or(strings.Compare(x.Source, y.Source), strings.Compare(x.What, y.What))
	})
}

// mostShown limits the output of a failing test, because the first faults are enough.
const mostShown = 5

// Verify fails the test for every violation, with the complete journey of the records concerned.
func (a *Account) Verify(t testing.TB) {
	t.Helper()
	faults := a.Faults()
	if len(faults) == 0 {
		return
	}
	inputs, sum := a.Totals()
	t.Errorf("%d faults in %d input records (%+v)", len(faults), inputs, sum)
	for i, f := range faults {
		if i == mostShown {
			t.Errorf("… and %d more", len(faults)-mostShown)
			break
		}
		t.Errorf("record %s: %s\n%s", f.Source, f.What, a.Journey(f.Source))
	}
}

// Journey lists where an input record has been, in the order of time.
func (a *Account) Journey(position string) string {
	trail := slices.Clone(a.trail[position])
	if len(trail) == 0 {
		return ""
	}
	slices.SortStableFunc(trail, func(x, y *kgo.Record) int { return x.Timestamp.Compare(y.Timestamp) })
	var b strings.Builder
	fmt.Fprintf(&b, "journey of %s:\n", position)
	for _, r := range trail {
		fmt.Fprintf(&b, "  %s\n", strings.ReplaceAll(topiclog.Describe(r), "\n", "\n  "))
	}
	return b.String()
}
