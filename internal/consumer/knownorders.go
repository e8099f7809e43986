package consumer

import (
	"context"
	"maps"
	"time"

	"github.com/switchback-geo/switchback/internal/control"
)

// knownOrders stores the orders for the whole pipeline that this instance has received: those in the control topic,
// and its own that are not written yet. It only stores them.
type knownOrders struct {
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

func newKnownOrders() knownOrders {
	return knownOrders{
		fleet: control.State{Phase: control.Running}, batches: map[string]control.State{}, ownB: map[string]ownOrder{},
	}
}

// take applies the content of the control topic. A view older than the last own order is ignored.
func (s *knownOrders) take(v control.View) {
	if v.Next < s.next && !v.Again {
		return
	}
	s.next, s.fleet, s.batches = v.Next, v.Pipeline, maps.Clone(v.Batches)
}

// pause stores an order to pause the pipeline, unless it is paused, and reports whether it is new.
func (s *knownOrders) pause(state control.State) bool {
	if _, paused := s.paused(); paused {
		return false
	}
	s.own = &ownOrder{state, s.next}
	return true
}

// paused returns the order that pauses the pipeline. An own order takes precedence, because its writer had seen the
// other order.
func (s *knownOrders) paused() (control.State, bool) {
	if s.own != nil {
		return s.own.State, true
	}
	return s.fleet, s.fleet.IsPaused()
}

// wrote records that the own order is in the topic.
func (s *knownOrders) wrote(state control.State, offset int64) {
	s.own = nil
	if offset >= s.next { // otherwise a later order is known already
		s.next, s.fleet = offset+1, state
	}
}

// quarantine stores an order to quarantine a batch, unless it is quarantined, and reports whether it is new.
func (s *knownOrders) quarantine(id string, state control.State) bool {
	if _, known := s.quarantined(id); known {
		return false
	}
	s.ownB[id] = ownOrder{state, s.next}
	return true
}

// quarantined returns the order that quarantines a batch, if there is one.
func (s *knownOrders) quarantined(id string) (control.State, bool) {
	if own, ok := s.ownB[id]; ok {
		return own.State, true
	}
	state, ok := s.batches[id]
	return state, ok
}

// wroteBatch records that the own order for a batch is in the topic.
func (s *knownOrders) wroteBatch(id string, offset int64) {
	order := s.ownB[id]
	delete(s.ownB, id)
	if offset >= s.next {
		s.next = offset + 1
		s.batches[id] = order.State
	}
}

// allQuarantined returns the orders that quarantine batches, by batch.
func (s *knownOrders) allQuarantined() map[string]control.State {
	all := maps.Clone(s.batches)
	for id, own := range s.ownB {
		all[id] = own.State
	}
	return all
}

// gatesOff is the order that switches the rate gates of this instance off for a while (consumer resume --for).
type gatesOff struct {
	order control.State // zero if there is none
	until time.Time     // by this machine's clock
	timer *time.Timer
}

// obeyGatesOff applies the gates part of the current order: they are off for a while, or they judge. Reading the same
// order again changes nothing. The orders' mutex is held.
func (o *orders) obeyGatesOff(ctx context.Context, now control.State) {
	before := o.off.order
	if now.GatesOff.Equal(before.GatesOff) && (now.GatesOff.IsZero() || now.At.Equal(before.At) && now.By == before.By) {
		return
	}
	o.off.stop()
	heard, lasted := time.Now(), o.off.until
	o.off = gatesOff{order: now, until: now.GatesOffUntil(heard)}
	o.suspend(o.off.until)
	switch {
	case now.GatesOff.IsZero() && !heard.Before(lasted): // its end was logged
	case now.GatesOff.IsZero():
		o.log.InfoContext(ctx, "the rate gates apply again, before the end of their pause; their windows are empty", "by", now.By, "reason", now.Reason)
	case o.off.until.IsZero():
		o.log.InfoContext(ctx, "an order turned the rate gates off until a time that has passed on this machine's clock; they apply",
			"by", now.By, "ordered_at", now.At, "until", now.GatesOff)
	default:
		o.tellGatesOff(ctx, heard)
	}
}

// tellGatesOff logs once a minute that the gates are off, and when that ends. The orders' mutex is held.
func (o *orders) tellGatesOff(ctx context.Context, now time.Time) {
	left := o.off.until.Sub(now)
	if left <= 0 {
		o.log.InfoContext(ctx, "the rate gates apply again; their windows are empty", "since", o.off.until)
		return
	}
	o.log.WarnContext(ctx, "the rate gates are off: no rate pauses the pipeline", "until", o.off.until, "by", o.off.order.By, "reason", o.off.order.Reason)
	order := o.off.order
	o.off.timer = time.AfterFunc(min(left, tellEvery), func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.off.order == order {
			o.tellGatesOff(ctx, time.Now())
		}
	})
}

// holdByRate orders a pause because of a rate, unless the gates were switched off after the rate was measured.
func (o *orders) pauseByRate(ctx context.Context, at time.Time, code control.Code, reason string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !at.Before(o.off.until) {
		o.orderPause(ctx, at, code, reason)
	}
}

// stop ends the log lines.
func (g *gatesOff) stop() {
	if g.timer != nil {
		g.timer.Stop()
	}
}
