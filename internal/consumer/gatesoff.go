package consumer

import (
	"context"
	"time"

	"github.com/switchback-geo/switchback/internal/control"
)

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
	told, lasted := time.Now(), o.off.until
	o.off = gatesOff{order: now, until: now.GatesOffUntil(told)}
	o.suspend(o.off.until)
	switch {
	case now.GatesOff.IsZero() && !told.Before(lasted): // its end was logged
	case now.GatesOff.IsZero():
		o.log.InfoContext(ctx, "the rate gates judge again before their time was over; their windows are empty", "by", now.By, "reason", now.Reason)
	case o.off.until.IsZero():
		o.log.InfoContext(ctx, "an order switched the rate gates off until a time that is over by this machine's clock: they judge",
			"by", now.By, "ordered_at", now.At, "until", now.GatesOff)
	default:
		o.tellGatesOff(ctx, told)
	}
}

// tellGatesOff logs once a minute that the gates are off, and when that ends. The orders' mutex is held.
func (o *orders) tellGatesOff(ctx context.Context, now time.Time) {
	left := o.off.until.Sub(now)
	if left <= 0 {
		o.log.InfoContext(ctx, "the rate gates judge again; their windows are empty", "since", o.off.until)
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
func (o *orders) holdByRate(ctx context.Context, at time.Time, code control.Code, reason string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !at.Before(o.off.until) {
		o.pause(ctx, at, code, reason)
	}
}

// stop ends the log lines.
func (g *gatesOff) stop() {
	if g.timer != nil {
		g.timer.Stop()
	}
}
