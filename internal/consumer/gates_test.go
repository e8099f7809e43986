package consumer

import (
	"bytes"
	"errors"
	"log/slog"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/paulmach/orb"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/gates"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// Every outcome of the engine has a meaning for the gates.
func TestOutcomeOf_S1_8_S4_9(t *testing.T) {
	done := gates.Outcome{Finished: true}
	for outcome, want := range map[policy.Outcome]gates.Outcome{
		policy.OutcomeDelivered: {Finished: true, Delivered: true}, policy.OutcomeDeadLettered: {Finished: true, Dead: true},
		policy.OutcomeRetried: {Transient: true}, policy.OutcomeDuplicate: done, policy.OutcomeSuperseded: done,
		policy.OutcomeFiltered: done, policy.OutcomeSkipped: done,
	} {
		e := event(outcome, 1, header.Control{})
		if outcome == policy.OutcomeRetried {
			e.Failure.Class = classify.RetryBackoff
		}
		got, counts := outcomeOf(e)
		expect.That(t, got == want && counts, "%s: %+v, %v", outcome, got, counts)
	}
	_, counts := outcomeOf(event(policy.OutcomeParked, 1, header.Control{}))
	expect.That(t, !counts, "parking is not an attempt")
	exhausted := event(policy.OutcomeDeadLettered, 5, header.Control{})
	exhausted.Failure.Class = classify.RetryBackoff
	got, _ := outcomeOf(exhausted)
	expect.That(t, got == (gates.Outcome{Retry: true, Transient: true, Finished: true, Dead: true}), "the last of many attempts: %+v", got)
}

func TestPausesAtOnce_S0_9_S4_1(t *testing.T) {
	t.Parallel()
	const halts = "\nhalt"
	for name, c := range map[string]struct {
		keys  string
		code  classify.Code
		level classify.Level
		want  bool
	}{
		"S0-9 precision degraded":                       {"", classify.CodePrecisionDegraded, classify.LevelRow, true},
		"S0-9 empty mandatory foreign key":              {"", classify.CodeForeignKeyEmpty, classify.LevelRow, true},
		"S0-9 unresolved foreign key":                   {"", classify.CodeForeignKeyUnresolved, classify.LevelRow, false},
		"a list of the user replaces the whole default": {"pause_on: [http_forbidden]", classify.CodePrecisionDegraded, classify.LevelRow, false},
		"listed":                    {"pause_on: [http_forbidden]", classify.CodeHTTPForbidden, classify.LevelPermanent, true},
		"S4-1 nothing can continue": {"pause_on: []", classify.CodeUnknown, classify.LevelPipeline, true},
		"S0-2 invalid geometry is one dead letter": {"", classify.CodeGeometryInvalid, classify.LevelRow, false},
		"S0-2 halt_on_geometry_invalid":            {halts, classify.CodeGeometryInvalid, classify.LevelRow, true},
		"S0-2 halts on a geometry not simple":      {halts, classify.CodeGeometryNotSimple, classify.LevelRow, true},
		"S0-2 halts on nothing else":               {halts, classify.CodeMissingRequired, classify.LevelRow, false},
	} {
		cfg := parse(t, "")
		if c.keys == halts {
			cfg.Pipeline.Tolerance.HaltOnGeometryInvalid = true
		} else if c.keys != "" {
			cfg = parseTolerance(t, c.keys)
		}
		f := classify.Failure{Code: c.code, Level: c.level, Err: errors.New("x")}
		expect.Equal(t, cfg.Pipeline.Tolerance.PausesAtOnce(f), c.want, name, "pauses at the first failure")
	}
}

// ofBatch returns an event of a record in a producer's batch.
func ofBatch(id string, outcome policy.Outcome) *retrytopics.Event {
	e := event(outcome, 1, header.Control{})
	e.Record.Headers = []kgo.RecordHeader{{Key: batchHeader, Value: []byte(id)}}
	return e
}

func newConsumer(t *testing.T, tolerance string) *Consumer {
	t.Helper()
	return must.Get(New(parseTolerance(t, tolerance), Options{}))(t)
}

// After an operator has released a batch, its further records are judged anew. Its count of deliveries continues.
func TestBatch_S4_1_aReleasedBatchIsNotQuarantinedForWhatItWas(t *testing.T) {
	c := newConsumer(t, "max_dead_letter_rate: 0.2, min_records: 10")
	for range 10 {
		c.ended(ofBatch("b", policy.OutcomeDelivered))
	}
	for range 10 {
		c.ended(ofBatch("b", policy.OutcomeDeadLettered))
	}
	_, yes := c.orders.quarantined("b")
	must.That(t, yes, "half of it failed, and not quarantined")
	c.orders.state.wroteBatch("b", 3)
	c.orders.take(t.Context(), view(6, resumedBy("ana"))) // consumer resume --batch b
	c.ended(ofBatch("b", policy.OutcomeDelivered))
	reason, yes := c.orders.quarantined("b")
	expect.That(t, !yes, "quarantined again by one good record: %s", reason)
	c.orders.onResume()
	expect.Equal(t, c.gates.Delivered("b"), 11, "delivered")
}

// readAll passes n features with coordinates of this many decimals to the consumer. It returns the first error and the
// number of features before it.
func readAll(c *Consumer, n, decimals int, control header.Control, headers ...kgo.RecordHeader) (error, int) {
	for i := range n {
		at := header.Position{Topic: "parcels", Offset: int64(i)}
		r := &retrytopics.Record{Position: at, Source: at, Attempt: 1, Control: &control, Headers: headers}
		f := &transform.Feature{}
		scale := math.Pow10(decimals)
		f.Geometry.Shape = orb.Point{math.Round((9+float64(i+1)*math.Pi/1000)*scale) / scale, math.Round((47+float64(i+1)*math.E/1000)*scale) / scale}
		if err := c.read(r, 0, f); err != nil {
			return err, i
		}
	}
	return nil, n
}

// S0-9: below the floor a record fails with a code that pauses the pipeline by default. Replayed dead letters pass.
func TestRead_S0_9_belowTheFloor(t *testing.T) {
	c := newConsumer(t, "precision_decimal_threshold: 6")
	err, n := readAll(c, 1000, 7, header.Control{})
	must.That(t, err == nil, "honest record %d: %v", n, err)
	err, n = readAll(c, 1000, 4, header.Control{})
	var e *transform.Error
	must.That(t, errors.As(err, &e) && e.Code == classify.CodePrecisionDegraded && n >= 20 && n <= 26, "after %d: %v", n, err)
	expect.That(t, c.cfg.Pipeline.Tolerance.PausesAtOnce(classify.New(c.cfg.Pipeline.RetryPolicy.Classification()).Of(err)), "the pipeline is not paused")
	for _, part := range []string{"pipeline.tolerance.precision_decimal_threshold", "of the last 100 ordinates", "transform.geometry.round_decimals"} {
		expect.That(t, strings.Contains(e.Error(), part) || strings.Contains(e.Fix, part), "the message lacks %s: %v; %s", part, e, e.Fix)
	}
	err, n = readAll(c, 1000, 4, header.Control{DeadLetterID: "d"})
	expect.That(t, err == nil, "replayed dead letter %d: %v", n, err)
	c.orders.onResume()
	err, n = readAll(c, 1000, 7, header.Control{})
	expect.That(t, err == nil, "after a person has resumed it, honest record %d: %v", n, err)
}

// Without the key the pipeline is not paused, but the precision is measured.
func TestRead_S0_9_noFloorIsAMetric(t *testing.T) {
	c := newConsumer(t, "max_dead_letter_rate: 1")
	err, _ := readAll(c, 1000, 4, header.Control{})
	expect.Do(t, err)
	families := must.Get(c.registry.Gather())(t)
	for _, f := range families {
		if f.GetName() == "switchback_coordinate_decimals" {
			expect.Equal(t, f.GetMetric()[0].GetGauge().GetValue(), 4, "decimals")
			return
		}
	}
	t.Error("no metric")
}

// off is an operator's order that switches the gates off for a while.
func off(at time.Time, length time.Duration) control.State {
	return control.State{Phase: control.Running, Code: control.CodeOperator, Reason: "known", By: "ana", At: at, GatesOff: at.Add(length)}
}

// countLines counts the log lines that begin with a text.
func countLines(log *bytes.Buffer, text string) int { return strings.Count(log.String(), text) }

// The order of `consumer resume --for` applies to running instances and to those that start later, and is logged once
// a minute. It ends when its time is over, by a resume without --for, or by a pause.
func TestOrders_S1_8_S4_12_gatesAreOffForAWhile(t *testing.T) {
	resume := func(at time.Time) control.State {
		return control.State{Phase: control.Running, Code: control.CodeOperator, By: "ben", At: at}
	}
	clock := func(at time.Time) string { return "gates off until " + at.Format(time.TimeOnly) }
	never := clock(time.Time{})
	for name, c := range map[string]struct {
		play       func(now time.Time, take func(control.State))
		want       []string // with T for ten minutes after the start
		warns, end int      // numbers of log lines
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
			take(pausedBy("gate"))
			take(off(now, 10*time.Minute))
			time.Sleep(90 * time.Second)
			take(off(now, 10*time.Minute))
		}, []string{"pause", "paused for good", "forget counts", "T", "resume"}, 2, 0},
		"ended by a resume without --for": {func(now time.Time, take func(control.State)) {
			take(off(now, 10*time.Minute))
			time.Sleep(30 * time.Second)
			take(resume(now.Add(30 * time.Second)))
			time.Sleep(time.Hour)
		}, []string{"T", never}, 1, 1},
		"ended by a pause": {func(now time.Time, take func(control.State)) {
			take(off(now, 10*time.Minute))
			take(pausedBy("ben"))
			time.Sleep(time.Hour)
			take(resume(now.Add(time.Hour)))
		}, []string{"T", "pause", "paused for good", never, "forget counts", "resume"}, 1, 1},
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
				warns, end := countLines(&log, "the rate gates are off"), countLines(&log, "the rate gates apply again")
				expect.That(t, warns == c.warns && end == c.end, "%d lines that they are off, %d that they apply again:\n%s", warns, end, log.String())
			})
		})
	}
}

// A rate that was computed right before the order that switches the gates off does not pause the pipeline after it. A
// code of pause_on does.
func TestOrders_S1_8_aRateThatWasReadBeforeTheOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{}
		o := newOrders(r)
		now := time.Now()
		o.take(t.Context(), view(1, off(now, time.Minute)))
		o.pauseByRate(t.Context(), now, control.CodeTransientRate, "too many")
		state, paused := o.paused()
		expect.That(t, !paused, "paused: %s", state)
		o.pauseByRate(t.Context(), now.Add(time.Minute), control.CodeTransientRate, "too many")
		_, paused = o.paused()
		expect.That(t, paused, "not paused after its end")
		o.off.stop()
	})
}

// After an instance has ended, it logs nothing more.
func TestOrders_S4_12_theTellingEndsWithTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOrders(&recorder{})
		var log bytes.Buffer
		o.log = slog.New(slog.NewTextHandler(&log, nil))
		ctx, stop := working(t, o)
		o.take(ctx, view(1, off(time.Now(), time.Hour)))
		stop()
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		expect.Equal(t, countLines(&log, "rate gates"), 1, "lines", log.String())
	})
}

// While the gates are off, no rate pauses the pipeline, but a code of pause_on does. When the time is over, the windows
// are empty.
func TestGates_S1_8_S4_9_offForAWhile(t *testing.T) {
	c := newConsumer(t, "max_dead_letter_rate: 0.2, max_transient_rate: 0.2, min_records: 10, precision_decimal_threshold: 6")
	now := time.Now().UTC()
	until := now.Add(time.Hour)
	c.now = func() time.Time { return now }
	end := func(n int) (paused bool) {
		for range n {
			e := event(policy.OutcomeDeadLettered, 1, header.Control{})
			e.At, e.Failure.Class = now, classify.RetryBackoff
			c.ended(e)
		}
		_, paused = c.orders.paused()
		return paused
	}
	c.orders.take(t.Context(), view(1, off(now, time.Hour)))
	defer c.orders.off.stop()
	err, n := readAll(c, 100, 4, header.Control{})
	must.That(t, err == nil && !end(50), "the gates are off; point %d below the floor: %v", n, err)
	now = until
	expect.That(t, !end(9), "failures from the time without gates are still counted")
	err, n = readAll(c, 100, 4, header.Control{})
	expect.That(t, err != nil && n >= 20, "the floor is judged from an empty window; point %d: %v", n, err)
	expect.That(t, end(1), "they apply again after ten records")
	other := newConsumer(t, "pause_on: [http_forbidden]")
	now = time.Now().UTC()
	other.orders.take(t.Context(), view(1, off(now, time.Hour)))
	defer other.orders.off.stop()
	e := event(policy.OutcomeRetried, 1, header.Control{})
	e.Failure.Code = classify.CodeHTTPForbidden
	other.failed(e)
	_, paused := other.orders.paused()
	expect.That(t, paused, "a code of pause_on does not pause the pipeline while the rate gates are off")
}
