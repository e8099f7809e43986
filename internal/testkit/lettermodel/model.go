package lettermodel

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/deadletters"
)

// Model is the letters of one DLQ as of one moment.
type Model struct {
	letters map[string]*deadletters.Letter
	states  map[string]deadletters.State
	broken  map[string]string // letters whose last state record cannot be read, and why
}

// Load reads both topics up to their present ends.
func Load(ctx context.Context, cl *kgo.Client, dlqTopic, statusTopic string) (*Model, error) {
	m := &Model{letters: map[string]*deadletters.Letter{}, states: map[string]deadletters.State{}, broken: map[string]string{}}
	for _, read := range []struct {
		topic string
		take  func(*kgo.Record)
	}{{statusTopic, m.state}, {dlqTopic, m.letter}} {
		spans, err := deadletters.Spans(ctx, cl, read.topic)
		if err != nil {
			return nil, err
		}
		err = deadletters.Scan(ctx, cl, read.topic, spans, func(r *kgo.Record) error {
			read.take(r)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return m, nil
}

// state takes a record of the status topic. A later one of a letter replaces the earlier; a
// tombstone removes it. One that cannot be read makes the letter's state unknown rather than pending.
func (m *Model) state(r *kgo.Record) {
	id := string(r.Key)
	if deadletters.IsChainHead(r.Key) {
		return
	}
	delete(m.broken, id)
	delete(m.states, id)
	if r.Value == nil {
		return
	}
	state, err := deadletters.ParseState(r.Value)
	if err == nil && state.ID != id {
		err = fmt.Errorf("its id is %q, its key %q", state.ID, id)
	}
	if err != nil {
		m.broken[id] = fmt.Sprintf("state at %s/%d/%d: %v", r.Topic, r.Partition, r.Offset, err)
		return
	}
	m.states[id] = state
}

// letter takes a record of the DLQ. A second one with the same id is the same letter, dead again
// or edited.
func (m *Model) letter(r *kgo.Record) {
	l := deadletters.Decode(r, true)
	if before := m.letters[l.ID]; before != nil {
		l.Deaths += before.Deaths
	}
	if why, broken := m.broken[l.ID]; broken {
		l.Status, l.Problems = "", append(l.Problems, why)
	} else if state, known := m.states[l.ID]; known {
		state = deadletters.Heard(&l, state, maxReplays)
		l.State, l.Status = state, state.Status
	}
	m.letters[l.ID] = &l
}

// maxReplays is the default of dead_letters.max_replays.
const maxReplays = 3

// Select returns the letters that a filter selects, the oldest death first, at most f.Limit of them.
func (m *Model) Select(f deadletters.Filter) []deadletters.Letter {
	var selected []deadletters.Letter
	for _, l := range m.letters {
		if f.Match(l) {
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
