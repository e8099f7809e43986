package consumer

import (
	"maps"

	"github.com/switchback-geo/switchback/internal/control"
)

// standing holds the orders for the whole pipeline that this instance knows: those in the control topic, and its own
// that are not written yet. It only stores them.
type standing struct {
	next    int64 // offset after the last applied order
	fleet   control.State
	batches map[string]control.State // quarantined, by ID
	own     *ownOrder                // ordered here, not written yet
	ownB    map[string]ownOrder      // the same for batches
}

// ownOrder is an order of this instance.
type ownOrder struct {
	control.State
	known int64 // value of next when the order was given
}

func newStanding() standing {
	return standing{
		fleet: control.State{Phase: control.Running}, batches: map[string]control.State{}, ownB: map[string]ownOrder{},
	}
}

// take applies the content of the control topic. A view older than the last own order is ignored.
func (s *standing) take(v control.View) {
	if v.Next < s.next && !v.Again {
		return
	}
	s.next, s.fleet, s.batches = v.Next, v.Pipeline, maps.Clone(v.Batches)
}

// hold stores an order to pause the pipeline, unless it is paused, and reports whether it is new.
func (s *standing) hold(state control.State) bool {
	if _, held := s.held(); held {
		return false
	}
	s.own = &ownOrder{state, s.next}
	return true
}

// held returns the order that pauses the pipeline. An own order comes first, because it was given with knowledge of the
// other one.
func (s *standing) held() (control.State, bool) {
	if s.own != nil {
		return s.own.State, true
	}
	return s.fleet, s.fleet.IsHeld()
}

// wrote records that the own order is in the topic.
func (s *standing) wrote(state control.State, offset int64) {
	s.own = nil
	if offset >= s.next { // otherwise a later order is known already
		s.next, s.fleet = offset+1, state
	}
}

// quarantine stores an order to quarantine a batch, unless it is quarantined, and reports whether it is new.
func (s *standing) quarantine(id string, state control.State) bool {
	if _, known := s.quarantined(id); known {
		return false
	}
	s.ownB[id] = ownOrder{state, s.next}
	return true
}

// quarantined returns the order that quarantines a batch, if there is one.
func (s *standing) quarantined(id string) (control.State, bool) {
	if own, ok := s.ownB[id]; ok {
		return own.State, true
	}
	state, ok := s.batches[id]
	return state, ok
}

// wroteBatch records that the own order for a batch is in the topic.
func (s *standing) wroteBatch(id string, offset int64) {
	order := s.ownB[id]
	delete(s.ownB, id)
	if offset >= s.next {
		s.next = offset + 1
		s.batches[id] = order.State
	}
}

// allQuarantined returns the orders that quarantine batches, by batch.
func (s *standing) allQuarantined() map[string]control.State {
	all := maps.Clone(s.batches)
	for id, own := range s.ownB {
		all[id] = own.State
	}
	return all
}
