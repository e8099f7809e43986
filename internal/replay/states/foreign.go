package states

import (
	"fmt"

	"github.com/switchback-geo/switchback/internal/deadletters"
)

// Foreign counts outcomes in the status topic that do not count because the dead letter was not part of their replay
// (see [deadletters.Last.Follow]). The consumer writes an outcome for every replayed record with a valid proof, also
// for a copy of that record.
type Foreign struct {
	Outcomes int
	First    string // position of the first such outcome, and why it does not count
}

// disputed reports whether an outcome does not count. It counts a foreign outcome in s.foreign.
func (s *Table) disputed(r *deadletters.StateRecord) bool {
	state := r.State
	if _, broken := s.broken[r.ID]; broken || !state.IsOutcome() {
		return false
	}
	m, known := s.entries[KeyOf(r.ID)]
	verdict := m.last.Follow(state, known && s.texts.list[m.replay] == state.ReplayID)
	if verdict == deadletters.Foreign {
		if s.foreign.Outcomes == 0 {
			s.foreign.First = fmt.Sprintf("%s says that dead letter %s became %s in replay %s, but it was %s, last in replay %q",
				r.At, r.ID, state.Status, state.ReplayID, m.last.Status(), s.texts.list[m.replay])
		}
		s.foreign.Outcomes++
	}
	return verdict != deadletters.Applies
}
