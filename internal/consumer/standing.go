package consumer

import (
	"maps"

	"github.com/switchback-geo/switchback/internal/control"
)

// standing is what this instance knows of the orders for the whole pipeline: those in the control topic, and its own that
// are not written yet. Its methods do nothing but remember.
type standing struct {
	next    int64 // offset after the last order that was taken in
	fleet   control.State
	batches map[string]control.State // quarantined, by id
	own     *ownOrder                // ordered here, not written yet
	ownB    map[string]ownOrder      // the same for batches
}

// ownOrder is an order of this instance.
type ownOrder struct {
	control.State
	known int64 // next when it was given
}

func newStanding() standing {
	return standing{
		fleet: control.State{Phase: control.Running}, batches: map[string]control.State{}, ownB: map[string]ownOrder{},
	}
}

// take takes in what the control topic says. An older view than that of the last own order says nothing new.
func (s *standing) take(v control.View) {
	if v.Next < s.next && !v.Again {
		return
	}
	s.next, s.fleet, s.batches = v.Next, v.Pipeline, maps.Clone(v.Batches)
}

// hold orders to hold the pipeline, unless it is held. It says whether that is new.
func (s *standing) hold(state control.State) bool {
	if _, held := s.held(); held {
		return false
	}
	s.own = &ownOrder{state, s.next}
	return true
}

// held gives the order that holds the pipeline. One's own comes first: it was given in the knowledge of the other.
func (s *standing) held() (control.State, bool) {
	if s.own != nil {
		return s.own.State, true
	}
	return s.fleet, s.fleet.IsHeld()
}

// wrote notes that one's own order is in the topic.
func (s *standing) wrote(state control.State, offset int64) {
	s.own = nil
	if offset >= s.next { // else somebody ordered something after it, which is known already
		s.next, s.fleet = offset+1, state
	}
}

// quarantine orders to quarantine a batch, unless it is. It says whether that is new.
func (s *standing) quarantine(id string, state control.State) bool {
	if _, known := s.quarantined(id); known {
		return false
	}
	s.ownB[id] = ownOrder{state, s.next}
	return true
}

// quarantined gives the order that quarantines a batch, if one does.
func (s *standing) quarantined(id string) (control.State, bool) {
	if own, ok := s.ownB[id]; ok {
		return own.State, true
	}
	state, ok := s.batches[id]
	return state, ok
}

// wroteBatch notes that one's own order for a batch is in the topic.
func (s *standing) wroteBatch(id string, offset int64) {
	order := s.ownB[id]
	delete(s.ownB, id)
	if offset >= s.next {
		s.next = offset + 1
		s.batches[id] = order.State
	}
}

// allQuarantined gives the orders that quarantine batches, by batch.
func (s *standing) allQuarantined() map[string]control.State {
	all := maps.Clone(s.batches)
	for id, own := range s.ownB {
		all[id] = own.State
	}
	return all
}
