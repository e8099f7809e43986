package deadletters

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"
)

// States is what the status topic says: the last state of each letter.
type States struct {
	byID   map[string]State
	broken map[string]string // letters whose last state record cannot be read, and why
}

// LoadStates reads the status topic up to its present end.
func LoadStates(ctx context.Context, cl *kgo.Client, topic string) (*States, error) {
	spans, err := Spans(ctx, cl, topic)
	if err != nil {
		return nil, err
	}
	states := NewStates()
	err = Scan(ctx, cl, topic, spans, func(r *kgo.Record) error {
		states.Add(r)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return states, nil
}

// NewStates returns an empty set.
func NewStates() *States {
	return &States{byID: map[string]State{}, broken: map[string]string{}}
}

// Add takes over one record of the status topic. A later record of a letter replaces the earlier
// one; a tombstone removes it. A record that cannot be read makes its letter's state unknown
// rather than pending: a letter that may have been replayed is not replayed again.
func (s *States) Add(r *kgo.Record) {
	id := string(r.Key)
	if IsChainHead(r.Key) {
		return
	}
	if r.Value == nil {
		s.remove(id)
		return
	}
	state, err := ParseState(r.Value)
	if err == nil && state.ID != id {
		err = fmt.Errorf("dead letter state: its id is %q, its key %q", clip(state.ID, 80), clip(id, 80))
	}
	if err != nil {
		s.remove(id)
		s.broken[id] = fmt.Sprintf("state at %s/%d/%d: %v", r.Topic, r.Partition, r.Offset, err)
		return
	}
	s.Set(state)
}

// Set takes over a state.
func (s *States) Set(state State) {
	delete(s.broken, state.ID)
	s.byID[state.ID] = state
}

func (s *States) remove(id string) {
	delete(s.broken, id)
	delete(s.byID, id)
}

// Of returns the state of a letter. Without a record it is pending; an unreadable record is an
// error that says where it lies.
func (s *States) Of(id string) (State, error) {
	if why, ok := s.broken[id]; ok {
		return State{}, fmt.Errorf("the state of dead letter %s cannot be read: %s", id, why)
	}
	if state, ok := s.byID[id]; ok {
		return state, nil
	}
	return State{ID: id, Status: Pending}, nil
}
