package consumer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/switchback-geo/switchback/internal/control"
)

// orders connects this instance to the orders for the whole pipeline. It pauses and resumes the engine as ordered in
// the control topic, and writes the orders of this instance's gates. An own order takes effect here at once, and
// everywhere else once it is written.
type orders struct {
	log    *slog.Logger
	by     string
	runID  string
	engine interface {
		Pause(reason string)
		Resume()
	}
	write     writer
	named     func(error) error        // names the principal that lacks a permission
	delivered func(batch string) int64 // how many records of a batch this instance has delivered
	onResume  func()                   // discards earlier counts of the gates
	suspend   func(until time.Time)    // the same, and no rate pauses the pipeline until then
	onBatch   func(batch string)       // the same for one batch, when its quarantine begins elsewhere, and when it ends
	onWritten func()                   // called once the pipeline is paused and the control topic records it

	mu      sync.Mutex
	unread  error // why the control topic cannot be read; the pipeline stops meanwhile
	logged  time.Time
	state   knownOrders
	off     gatesOff
	reports map[string]control.State // batches for which this instance still has to report its deliveries
	wake    chan struct{}
}

// writer is control.Writer, or a failing one in tests.
type writer interface {
	PauseSince(ctx context.Context, s control.State, known int64) (int64, error)
	QuarantineSince(ctx context.Context, id string, s control.State, known int64) (int64, error)
	Report(ctx context.Context, id string, s control.State, delivered int64) error
}

const (
	writeAgain   = time.Second // between two attempts to write an order, at first
	writeSlowest = 15 * time.Second
	lastTry      = 5 * time.Second // for an order that is not written when the run ends
	writeTimeout = 30 * time.Second
)

// take follows the control topic.
func (o *orders) take(ctx context.Context, v control.View) {
	o.mu.Lock()
	defer o.mu.Unlock()
	unread := o.unread
	o.unread = nil
	o.apply(ctx, v, func() {})
	if _, paused := o.state.paused(); unread != nil {
		o.log.InfoContext(ctx, "the control topic can be read again")
		if !paused {
			o.engine.Resume()
		}
	}
}

// tellEvery is the time between two log lines about a lasting failure.
const tellEvery = time.Minute

// cannotRead pauses this instance until the control topic can be read again, because the pipeline may have been paused.
func (o *orders) cannotRead(ctx context.Context, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.unread == nil || time.Since(o.logged) >= tellEvery {
		o.logged = time.Now()
		o.log.ErrorContext(ctx, "cannot read the control topic; this instance is paused until it can", "error", err)
	}
	o.unread = err
	if _, paused := o.state.paused(); !paused {
		o.engine.Pause("the control topic cannot be read: " + err.Error())
	}
}

// ready returns why this instance is not ready, or "".
func (o *orders) ready() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.unread != nil {
		return "paused: the control topic cannot be read: " + o.unread.Error()
	}
	return ""
}

// apply applies the topic's orders, and drops an own order that they supersede. The mutex is held.
func (o *orders) apply(ctx context.Context, v control.View, drop func()) {
	_, before := o.state.paused()
	known := o.state.allQuarantined()
	drop()
	o.state.take(v)
	o.compare(ctx, known, o.state.allQuarantined())
	now, paused := o.state.paused()
	switch {
	case paused:
		o.engine.Pause(now.String())
		if !before {
			o.log.WarnContext(ctx, "pipeline paused", "reason", now.Reason, "code", string(now.Code), "by", now.By, "since", now.At)
		}
		o.settled()
	case before:
		o.resume(ctx, now)
		return
	}
	o.obeyGatesOff(ctx, now)
}

// compare acts on the batches whose quarantine began or ended. The mutex is held.
func (o *orders) compare(ctx context.Context, before, now map[string]control.State) {
	for id, state := range now {
		if _, known := before[id]; known {
			continue
		}
		o.log.WarnContext(ctx, "batch quarantined; its remaining records go to the DLQ", "batch_id", id, "reason", state.Reason,
			"code", string(state.Code), "by", state.By, "since", state.At, "delivered_here", o.delivered(id))
		o.reports[id] = state
		o.onBatch(id)
		o.stir()
	}
	for id := range before {
		if _, still := now[id]; !still {
			o.onBatch(id)
		}
	}
}

// settled calls onWritten if the pipeline is paused and no own order is still to be written. The mutex is held.
func (o *orders) settled() {
	if _, paused := o.state.paused(); paused && o.state.own == nil {
		o.onWritten()
	}
}

// pause orders a pause of the pipeline. The engine's workers may call it.
func (o *orders) pause(ctx context.Context, at time.Time, code control.Code, reason string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.orderPause(ctx, at, code, reason)
}

// orderPause is pause with the mutex held.
func (o *orders) orderPause(ctx context.Context, at time.Time, code control.Code, reason string) {
	state := control.State{Phase: control.Paused, Code: code, Reason: reason, By: o.by, RunID: o.runID, At: at.UTC().Truncate(time.Millisecond)}
	if !o.state.pause(state) {
		return
	}
	o.engine.Pause(state.String())
	o.log.ErrorContext(ctx, "pipeline paused; once the cause is fixed: consumer resume --reason …", "reason", reason, "code", string(code))
	o.stir()
}

// quarantine orders the quarantine of one of the producer's batches.
func (o *orders) quarantine(ctx context.Context, at time.Time, id string, code control.Code, reason string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	state := control.State{Phase: control.Quarantined, Code: code, Reason: reason, By: o.by, RunID: o.runID, At: at.UTC().Truncate(time.Millisecond)}
	if !o.state.quarantine(id, state) {
		return
	}
	o.log.ErrorContext(ctx, "error threshold exceeded: batch quarantined; its remaining records go to the DLQ", "batch_id", id, "reason", reason,
		"code", string(code), "delivered_here", o.delivered(id))
	o.stir()
}

// quarantined returns the reason of a batch's quarantine. No record is in the batch "".
func (o *orders) quarantined(id string) (reason string, yes bool) {
	if id == "" {
		return "", false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	state, yes := o.state.quarantined(id)
	return state.Reason, yes
}

// quarantinedBy returns the batches that a run has quarantined and that still are.
func (o *orders) quarantinedBy(runID string) map[string]bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := map[string]bool{}
	for id, state := range o.state.allQuarantined() {
		if state.RunID == runID {
			all[id] = true
		}
	}
	return all
}

// deliveredOf is called when a record of a batch was delivered. Records in flight when the batch was quarantined are
// committed after that; a report that counts them follows the first one. An order that is still to be written includes
// its own report.
func (o *orders) deliveredOf(batch string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if state, yes := o.state.batches[batch]; yes {
		o.reports[batch] = state
		o.stir()
	}
}

// paused returns the order that pauses the pipeline, if there is one.
func (o *orders) paused() (control.State, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.state.paused()
}

func (o *orders) stir() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// run writes own orders until the context ends, and then tries once more: an unwritten order is lost with this process.
func (o *orders) run(ctx context.Context) {
	wait, logged := writeAgain, time.Time{}
	for ctx.Err() == nil {
		err := o.flush(ctx)
		if err != nil && ctx.Err() == nil && time.Since(logged) >= tellEvery {
			logged = time.Now()
			o.log.ErrorContext(ctx, "cannot write an order to the control topic; this instance obeys it, but others have not received it yet", "error", o.named(err))
		}
		var again <-chan time.Time
		if err != nil {
			again = time.After(wait)
			wait = min(2*wait, writeSlowest)
		} else {
			wait, logged = writeAgain, time.Time{}
		}
		select {
		case <-ctx.Done():
		case <-o.wake:
		case <-again:
		}
	}
	o.mu.Lock()
	o.off.stop()
	o.mu.Unlock()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastTry)
	defer cancel()
	if err := o.flush(last); err != nil {
		o.log.ErrorContext(ctx, "an order could not be written to the control topic; the next run will not have it", "error", o.named(err))
	}
}

// flush writes all orders that are not written.
func (o *orders) flush(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	o.mu.Lock()
	batches, own := maps.Clone(o.state.ownB), o.state.own
	o.mu.Unlock()
	for id, order := range batches {
		if err := o.writeBatch(ctx, id, order); err != nil {
			return fmt.Errorf("quarantine batch %s: %w", id, err)
		}
	}
	if own != nil {
		if err := o.writePipeline(ctx, *own); err != nil {
			return fmt.Errorf("pause the pipeline: %w", err)
		}
	}
	return o.report(ctx)
}

func (o *orders) writeBatch(ctx context.Context, id string, order ownOrder) error {
	offset, err := o.write.QuarantineSince(ctx, id, order.State, order.known)
	overtaken, other := errors.AsType[*control.OvertakenError](err)
	if err != nil && !other {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if other {
		o.apply(ctx, overtaken.View, func() { delete(o.state.ownB, id) })
	} else {
		o.state.wroteBatch(id, offset)
	}
	if now, yes := o.state.quarantined(id); yes { // otherwise the batch was released meanwhile
		o.reports[id] = now
	}
	return nil
}

func (o *orders) writePipeline(ctx context.Context, order ownOrder) error {
	offset, err := o.write.PauseSince(ctx, order.State, order.known)
	overtaken, other := errors.AsType[*control.OvertakenError](err)
	if err != nil && !other {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if other {
		o.apply(ctx, overtaken.View, func() { o.state.own = nil })
		return nil
	}
	o.state.wrote(order.State, offset)
	if now, paused := o.state.paused(); !paused { // the pipeline was resumed meanwhile
		o.resume(ctx, now)
	}
	o.settled()
	return nil
}

// resume resumes the engine. The mutex is held.
func (o *orders) resume(ctx context.Context, now control.State) {
	o.onResume()
	o.obeyGatesOff(ctx, now)
	if o.unread != nil {
		o.engine.Pause("the control topic cannot be read: " + o.unread.Error())
		return
	}
	o.engine.Resume()
	o.log.InfoContext(ctx, "pipeline resumed", "reason", now.Reason, "by", now.By)
}

// report writes to the audit trail what this instance has delivered of batches that are now quarantined. A report
// that cannot be written is retried.
func (o *orders) report(ctx context.Context) error {
	for id, state, due := o.nextReport(); due; id, state, due = o.nextReport() {
		n := o.delivered(id)
		if n == 0 {
			continue
		}
		state.By, state.RunID = o.by, o.runID
		if err := o.write.Report(ctx, id, state, n); err != nil {
			o.reportLater(id, state)
			return fmt.Errorf("report the deliveries of batch %s: %w", id, err)
		}
	}
	return nil
}

// nextReport returns a due report. Later deliveries make it due again.
func (o *orders) nextReport() (id string, state control.State, due bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for id, state := range o.reports {
		delete(o.reports, id)
		return id, state, true
	}
	return "", control.State{}, false
}

func (o *orders) reportLater(id string, state control.State) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.reports[id] = state
}
