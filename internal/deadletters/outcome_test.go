package deadletters

import "testing"

// S4-6: an outcome closes a dead letter only from replaying, in the same replay.
func TestFollow_S4_6_onlyFromReplayingInTheSameReplay(t *testing.T) {
	operator := func(s Status, replay string) State { return State{Status: s, ReplayID: replay, Writer: Operator} }
	outcome := func(s Status, replay string) State { return State{Status: s, ReplayID: replay} }
	for name, c := range map[string]struct {
		prev, next State
		unknown    bool
		want       Verdict
	}{
		"the outcome of the replay":                {prev: operator(Replaying, "r1"), next: outcome(Reprocessed, "r1"), want: Applies},
		"it failed again":                          {prev: operator(Replaying, "r1"), next: outcome(Pending, "r1"), want: Applies},
		"of another replay":                        {prev: operator(Replaying, "r2"), next: outcome(Reprocessed, "r1"), want: Foreign},
		"of a dead letter that was never replayed": {prev: outcome(Escalated, ""), next: outcome(Reprocessed, "r1"), want: Foreign},
		"a second one":                             {prev: outcome(Reprocessed, "r1"), next: outcome(Duplicate, "r1"), want: Repeated},
		"a second one after a failure":             {prev: outcome(Pending, "r1"), next: outcome(Reprocessed, "r1"), want: Repeated},
		"after an operator discarded it":           {prev: operator(Discarded, "r1"), next: outcome(Reprocessed, "r1"), want: Foreign},
		"after an operator reopened it":            {prev: operator(Pending, "r1"), next: outcome(Reprocessed, "r1"), want: Foreign},
		"nothing is known of before":               {unknown: true, next: outcome(Reprocessed, "r1"), want: Applies},
		"an operator's":                            {prev: outcome(Superseded, "r1"), next: operator(Pending, "r1"), want: Applies},
		"the next replay":                          {prev: outcome(Pending, "r1"), next: operator(Replaying, "r2"), want: Applies},
		"escalated at once, without a replay":      {prev: operator(Pending, "r1"), next: outcome(Escalated, ""), want: Applies},
		"replaying, by the consumer":               {prev: outcome(Pending, "r1"), next: outcome(Replaying, "r2"), want: Applies},
		"of a replay that the consumer began":      {prev: outcome(Replaying, "r2"), next: outcome(Reprocessed, "r2"), want: Applies},
	} {
		last := LastOf(c.prev)
		if c.unknown {
			last = Last{}
		}
		if got := last.Follow(c.next, c.prev.ReplayID == c.next.ReplayID); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
