package lettermodel

import (
	"cmp"
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/kafka"
)

// Model has the dead letters of one DLQ at one moment.
type Model struct {
	letters map[string]*deadletters.Letter
	states  map[string]deadletters.State
	broken  map[string]string // dead letters with a malformed last state record, and why
}

// Load reads both topics up to their current ends.
func Load(ctx context.Context, cl *kgo.Client, dlqTopic, statusTopic string) (*Model, error) {
	m := &Model{letters: map[string]*deadletters.Letter{}, states: map[string]deadletters.State{}, broken: map[string]string{}}
	states, err := kafka.Spans(ctx, cl, statusTopic)
	if err != nil {
		return nil, err
	}
	err = deadletters.ScanStates(ctx, kafka.Cluster{Client: cl}, statusTopic, states, func(r *deadletters.StateRecord) error {
		m.state(r)
		return nil
	})
	if err != nil {
		return nil, err
	}
	letters, err := kafka.Spans(ctx, cl, dlqTopic)
	if err != nil {
		return nil, err
	}
	return m, deadletters.Reading{}.Letters(ctx, cl, dlqTopic, letters, func(l *deadletters.Letter) error {
		m.letter(*l)
		return nil
	})
}

// state applies a record of the status topic. A later record of a dead letter replaces an earlier one, and a tombstone
// removes it. A malformed record makes the state unknown rather than pending.
func (m *Model) state(r *deadletters.StateRecord) {
	if r.ChainHead != nil {
		return
	}
	delete(m.broken, r.ID)
	delete(m.states, r.ID)
	switch {
	case r.Err != nil:
		m.broken[r.ID] = r.Err.Error()
	case !r.Removed:
		m.states[r.ID] = r.State
	}
}

// letter applies a record of the DLQ. A second record with the same ID is the same dead letter, after another failure or
// an edit.
func (m *Model) letter(l deadletters.Letter) {
	if before := m.letters[l.ID]; before != nil {
		l.Deaths += before.Deaths
	}
	if why, broken := m.broken[l.ID]; broken {
		l.Status, l.Problems = "", append(l.Problems, why)
	} else if state, known := m.states[l.ID]; known {
		state = deadletters.ExternalOutcome(&l, state, maxReplays)
		l.State, l.Status = state, state.Status
	}
	m.letters[l.ID] = &l
}

// maxReplays is the default of dead_letters.max_replays.
const maxReplays = 3

// Select returns at most f.Limit dead letters that a filter selects, the oldest first.
func (m *Model) Select(f deadletters.Filter) []deadletters.Letter {
	var selected []deadletters.Letter
	for _, l := range m.letters {
		if match(f, l) {
			selected = append(selected, *l)
		}
	}
	slices.SortFunc(selected, func(a, b deadletters.Letter) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.DLQ.Partition, b.DLQ.Partition), cmp.Compare(a.DLQ.Offset, b.DLQ.Offset))
	})
	if f.Limit > 0 && len(selected) > f.Limit {
		selected = selected[:f.Limit]
	}
	return selected
}
