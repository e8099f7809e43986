package consumer

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// off is the order of somebody who has the gates off for a while.
func off(at time.Time, length time.Duration) control.State {
	return control.State{Phase: control.Running, Code: control.CodeOperator, Reason: "known", By: "ana", At: at, GatesOff: at.Add(length)}
}

// told counts the lines of a log by what they begin with.
func told(log *bytes.Buffer, text string) int { return strings.Count(log.String(), text) }

// What `consumer resume --for` orders holds for instances that run and for those that start later, is told once a minute, and ends
// by itself, by a resume without --for, or by a pause.
func TestOrders_S1_8_S4_12_gatesAreOffForAWhile(t *testing.T) {
	resume := func(at time.Time) control.State {
		return control.State{Phase: control.Running, Code: control.CodeOperator, By: "ben", At: at}
	}
	clock := func(at time.Time) string { return "gates off until " + at.Format(time.TimeOnly) }
	never := clock(time.Time{})
	for name, c := range map[string]struct {
		play       func(now time.Time, take func(control.State))
		want       []string // with T for ten minutes after the start
		warns, end int      // lines
	}{
		"started after the order": {func(now time.Time, take func(control.State)) {
			take(off(now.Add(-5*time.Minute), 15*time.Minute))
			time.Sleep(15 * time.Minute)
		}, []string{"T"}, 10, 1},
		"started after its end": {func(now time.Time, take func(control.State)) {
			take(off(now.Add(-15*time.Minute), 10*time.Minute))
			time.Sleep(time.Minute)
		}, []string{never}, 0, 0},
		"resumed, and read again": {func(now time.Time, take func(control.State)) {
			take(heldBy("gate"))
			take(off(now, 10*time.Minute))
			time.Sleep(90 * time.Second)
			take(off(now, 10*time.Minute))
		}, []string{"hold", "held for good", "forget counts", "T", "resume"}, 2, 0},
		"ended by a resume without --for": {func(now time.Time, take func(control.State)) {
			take(off(now, 10*time.Minute))
			time.Sleep(30 * time.Second)
			take(resume(now.Add(30 * time.Second)))
			time.Sleep(time.Hour)
		}, []string{"T", never}, 1, 1},
		"ended by a pause": {func(now time.Time, take func(control.State)) {
			take(off(now, 10*time.Minute))
			take(heldBy("ben"))
			time.Sleep(time.Hour)
			take(resume(now.Add(time.Hour)))
		}, []string{"T", "hold", "held for good", never, "forget counts", "resume"}, 1, 1},
		"from a clock that is a year ahead": {func(now time.Time, take func(control.State)) {
			take(off(now.AddDate(1, 0, 0), 10*time.Minute))
			time.Sleep(15 * time.Minute)
		}, []string{"T"}, 10, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &recorder{}
				o := newOrders(r)
				var log bytes.Buffer
				o.log = slog.New(slog.NewTextHandler(&log, nil))
				now, next := time.Now().UTC(), int64(0)
				c.play(now, func(s control.State) {
					next++
					o.take(t.Context(), view(next, s))
				})
				synctest.Wait()
				want := slices.Clone(c.want)
				for i, what := range want {
					if what == "T" {
						want[i] = clock(now.Add(10 * time.Minute))
					}
				}
				expect.That(t, slices.Equal(r.did, want), "got  %q\nwant %q", r.did, want)
				o.off.stop()
				warns, end := told(&log, "the rate gates are off"), told(&log, "the rate gates judge again")
				expect.That(t, warns == c.warns && end == c.end, "%d lines that they are off, %d that they judge again:\n%s", warns, end, log.String())
			})
		})
	}
}

// A rate that was read right before the order that switches the gates off does not pause the pipeline after it; a code does.
func TestOrders_S1_8_aRateThatWasReadBeforeTheOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{}
		o := newOrders(r)
		now := time.Now()
		o.take(t.Context(), view(1, off(now, time.Minute)))
		o.holdByRate(t.Context(), now, control.CodeTransientRate, "too many")
		state, held := o.held()
		expect.That(t, !held, "held: %s", state)
		o.holdByRate(t.Context(), now.Add(time.Minute), control.CodeTransientRate, "too many")
		_, held = o.held()
		expect.That(t, held, "not held after its end")
		o.off.stop()
	})
}

// An instance that ends tells nothing more.
func TestOrders_S4_12_theTellingEndsWithTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOrders(&recorder{})
		var log bytes.Buffer
		o.log = slog.New(slog.NewTextHandler(&log, nil))
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { o.run(ctx) })
		o.take(ctx, view(1, off(time.Now(), time.Hour)))
		cancel()
		wg.Wait()
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		n := told(&log, "rate gates")
		expect.That(t, n == 1, "%d lines:\n%s", n, log.String())
	})
}

// While the gates are off no rate pauses the pipeline, and a code of hold_on does; when it has ended, the windows are empty.
func TestGates_S1_8_S4_9_offForAWhile(t *testing.T) {
	c := newConsumer(t, "max_dead_letter_rate: 0.2, max_transient_rate: 0.2, min_records: 10, precision_decimal_threshold: 6")
	now := time.Now().UTC()
	until := now.Add(time.Hour)
	c.now = func() time.Time { return now }
	end := func(n int) (held bool) {
		for range n {
			e := event(policy.OutcomeDeadLettered, 1, header.Control{})
			e.At, e.Failure.Class = now, classify.RetryBackoff
			c.ended(e)
		}
		_, held = c.orders.held()
		return held
	}
	c.orders.take(t.Context(), view(1, off(now, time.Hour)))
	defer c.orders.off.stop()
	if err, n := readAll(c, 100, 4, header.Control{}); err != nil || end(50) {
		t.Fatalf("the gates are off; point %d below the floor: %v", n, err)
	}
	now = until
	expect.That(t, !end(9), "what was counted while they were off counts after it")
	if err, n := readAll(c, 100, 4, header.Control{}); err == nil || n < 20 {
		t.Errorf("the floor is judged from an empty window on; point %d: %v", n, err)
	}
	expect.That(t, end(1), "they judge again from ten records on")
	other := newConsumer(t, "hold_on: [http_forbidden]")
	now = time.Now().UTC()
	other.orders.take(t.Context(), view(1, off(now, time.Hour)))
	defer other.orders.off.stop()
	e := event(policy.OutcomeRetried, 1, header.Control{})
	e.Failure.Code = classify.CodeHTTPForbidden
	other.failed(e)
	if _, held := other.orders.held(); !held {
		t.Error("a code of hold_on does not pause the pipeline while the rate gates are off")
	}
}
