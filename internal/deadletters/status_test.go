package deadletters

import (
	"slices"
	"testing"
)

// The whole table: what is not in it is illegal.
func TestStatus_transitions(t *testing.T) {
	legal := map[Status][]Status{
		Pending:     {Replaying, Discarded, Escalated, Duplicate, Superseded},
		Replaying:   {Reprocessed, Pending, Escalated, Duplicate, Superseded, Discarded},
		Escalated:   {Pending, Replaying, Discarded, Duplicate},
		Discarded:   {Pending, Escalated},
		Reprocessed: nil,
		Duplicate:   nil,
		Superseded:  {Pending},
	}
	for _, from := range Statuses() {
		for _, to := range Statuses() {
			if got, want := from.CanBecome(to), slices.Contains(legal[from], to); got != want {
				t.Errorf("%s -> %s: allowed %v, want %v", from, to, got, want)
			}
		}
	}
	if Status("gone").CanBecome(Pending) {
		t.Error("an unknown status may become pending")
	}
}

func TestStatus_holds_content_only_while_it_is_or_was_put_back(t *testing.T) {
	for _, s := range Statuses() {
		if got, want := s.HoldsContent(), s == Replaying || s == Reprocessed; got != want {
			t.Errorf("%s holds content: %v, want %v", s, got, want)
		}
	}
}
