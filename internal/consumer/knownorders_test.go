package consumer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/fakekafka"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/topics"
)

var noon = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

func pausedBy(who string) control.State {
	return control.State{Phase: control.Paused, Code: control.CodeOperator, Reason: "x", By: who, At: noon}
}

func resumedBy(who string) control.State {
	return control.State{Phase: control.Running, Code: control.CodeOperator, By: who, At: noon}
}

func view(next int64, s control.State) control.View {
	return control.View{Pipeline: s, Next: next, Batches: map[string]control.State{}}
}

// The order in the control topic decides whether the pipeline is paused, in whatever order instances read it.
func TestStanding_S1_8_theOrderOfTheTopicDecides(t *testing.T) {
	type step func(*knownOrders)
	take := func(next int64, s control.State) step { return func(st *knownOrders) { st.take(view(next, s)) } }
	own := func(st *knownOrders) { st.pause(pausedBy("me")) }
	wrote := func(offset int64) step { return func(st *knownOrders) { st.wrote(pausedBy("me"), offset) } }
	for name, c := range map[string]struct {
		steps  []step
		paused string // by whom the pipeline is paused
	}{
		"no order":            {nil, ""},
		"paused at the start": {[]step{take(1, pausedBy("ana"))}, "ana"},
		"resumed":             {[]step{take(1, pausedBy("ana")), take(2, resumedBy("ben"))}, ""},
		"own unwritten order": {[]step{own}, "me"},
		"own unwritten order after an older resume": {[]step{own, take(1, resumedBy("ben"))}, "me"},
		"written":                          {[]step{own, wrote(4)}, "me"},
		"own order written, and read late": {[]step{own, wrote(4), take(3, resumedBy("ben")), take(5, pausedBy("me"))}, "me"},
		"a later resume, read before the write was acknowledged": {[]step{own, take(6, resumedBy("ben")), wrote(4)}, ""},
		"a later resume":                                   {[]step{own, wrote(4), take(6, resumedBy("ben"))}, ""},
		"another order is already in force":                {[]step{take(1, pausedBy("ana")), own}, "ana"},
		"paused again after a resume":                      {[]step{own, wrote(4), take(6, resumedBy("ben")), own}, "me"},
		"another instance wrote the same order after ours": {[]step{own, take(3, pausedBy("ana")), wrote(1)}, "ana"},
	} {
		s := newKnownOrders()
		for _, step := range c.steps {
			step(&s)
		}
		state, paused := s.paused()
		expect.That(t, paused == (c.paused != "") && (!paused || state.By == c.paused), "%s: paused %v by %q, want by %q", name, paused, state.By, c.paused)
	}
}

// recorder is an engine and a control topic that fails at first.
type recorder struct {
	mu       sync.Mutex
	did      []string
	failures int
	offset   int64
	topic    control.View // content of the topic when an order is written
}

func (r *recorder) note(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.did = append(r.did, what)
}
func (r *recorder) Pause(string) { r.note("pause") }
func (r *recorder) Resume()      { r.note("resume") }

func (r *recorder) PauseSince(_ context.Context, _ control.State, known int64) (int64, error) {
	if r.failures--; r.failures >= 0 {
		r.note("cannot write")
		return 0, errors.New("no broker")
	}
	if r.topic.Ordered >= known {
		r.note("overtaken")
		return 0, fmt.Errorf("write: %w", &control.OvertakenError{View: r.topic})
	}
	r.note("written")
	r.offset++
	return r.offset, nil
}

func (r *recorder) Report(_ context.Context, id string, _ control.State, n int64) error {
	r.note(fmt.Sprintf("report %d of %s", n, id))
	return nil
}

func (r *recorder) QuarantineSince(_ context.Context, id string, s control.State, known int64) (int64, error) {
	if r.topic.Next > known {
		r.note("overtaken " + id)
		return 0, fmt.Errorf("write: %w", &control.OvertakenError{Batch: id, View: r.topic})
	}
	r.note(string(s.Phase) + " " + id)
	r.offset++
	return r.offset, nil
}

func newOrders(r *recorder) *orders {
	if r.topic.Next == 0 {
		r.topic.Ordered = -1
	}
	return &orders{
		log: slog.New(slog.DiscardHandler), by: "consumer me", engine: r, write: r, named: func(err error) error { return err }, state: newKnownOrders(), wake: make(chan struct{}, 1),
		reports: map[string]control.State{}, delivered: func(id string) int64 { return int64(len(id)) },
		onResume: func() { r.note("forget counts") }, suspend: func(until time.Time) { r.note("gates off until " + until.Format(time.TimeOnly)) }, onBatch: func(string) {}, onWritten: func() { r.note("paused for good") },
	}
}

// working runs orders until stop is called.
func working(t *testing.T, o *orders) (ctx context.Context, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { o.run(ctx) })
	return ctx, func() { cancel(); wg.Wait() }
}

// If an order cannot be written for long, it is retried with growing delays, and logged once a minute.
func TestOrders_S4_15_anOrderThatCannotBeWrittenIsNoHotLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{failures: 1 << 20}
		o := newOrders(r)
		var log bytes.Buffer
		o.log = slog.New(slog.NewTextHandler(&log, nil))
		ctx, stop := working(t, o)
		synctest.Wait()
		o.pause(ctx, time.Now(), control.CodeNullRate, "too many")
		time.Sleep(5*time.Minute - time.Second)
		synctest.Wait()
		lines := strings.Count(log.String(), "cannot write an order")
		stop()
		tries := 1<<20 - r.failures
		expect.That(t, tries >= 15 && tries <= 30, "%d attempts in five minutes", tries)
		expect.That(t, lines == 5, "%d lines in five minutes, want one a minute:\n%s", lines, log.String())
	})
}

// The instance obeys its own order at once and writes it to the topic as soon as possible, and only once.
func TestOrders_S1_8_holdHereAtOnceAndEverywhereOnceWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{failures: 2}
		o := newOrders(r)
		ctx, stop := working(t, o)
		synctest.Wait()
		o.pause(ctx, time.Now(), control.CodeNullRate, "too many")
		o.pause(ctx, time.Now(), control.CodeTransientRate, "and the quarantined rest")
		time.Sleep(10 * time.Second)
		synctest.Wait()
		o.take(ctx, view(9, resumedBy("ana")))
		stop()
		want := []string{"pause", "cannot write", "cannot write", "written", "paused for good", "forget counts", "resume"}
		expect.That(t, slices.Equal(r.did, want), "got  %q\nwant %q", r.did, want)
	})
}

// A failure from before a resume does not pause the pipeline again, and if another instance has paused it, no second
// order is written: the topic decides, regardless of timing.
func TestOrders_S1_8_anOrderThatIsOvertakenIsNotWritten(t *testing.T) {
	for name, c := range map[string]struct {
		topic  control.State
		paused string
		want   []string
	}{
		"resumed meanwhile": {resumedBy("ana"), "", []string{"pause", "overtaken", "forget counts", "resume"}},
		"paused meanwhile":  {pausedBy("consumer other"), "consumer other", []string{"pause", "overtaken", "pause", "paused for good"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &recorder{topic: view(7, c.topic)}
				r.topic.Ordered = 5
				o := newOrders(r)
				o.take(t.Context(), view(5, resumedBy("ben")))
				ctx, stop := working(t, o)
				o.pause(ctx, time.Now(), control.CodeNullRate, "too many")
				synctest.Wait()
				state, paused := o.paused()
				expect.That(t, paused == (c.paused != "") && (!paused || state.By == c.paused), "paused %v by %q, want by %q", paused, state.By, c.paused)
				stop()
				expect.That(t, slices.Equal(r.did, c.want), "got  %q\nwant %q", r.did, c.want)
			})
		})
	}
}

// An order that could not be written yet is written when the instance stops.
func TestOrders_anOrderIsWrittenBeforeTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{failures: 1}
		o := newOrders(r)
		ctx, cancel := context.WithCancel(t.Context())
		o.pause(ctx, time.Now(), control.CodeNullRate, "too many")
		var wg sync.WaitGroup
		wg.Go(func() { o.run(ctx) })
		synctest.Wait()
		cancel()
		wg.Wait()
		got := r.did
		expect.That(t, slices.Contains(got, "written"), "got %q", got)
	})
}

// A batch is quarantined here at once, and everywhere once the order is written. Each instance reports how many of its
// records it had delivered, including an instance that learns of the quarantine from the topic.
func TestOrders_S4_1_aQuarantineIsWrittenAndReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{}
		o := newOrders(r)
		ctx, stop := working(t, o)
		o.quarantine(ctx, time.Now(), "own", control.CodeNullRate, "too many")
		o.quarantine(ctx, time.Now(), "own", control.CodeNullRate, "and the quarantined rest")
		reason, yes := o.quarantined("own")
		expect.That(t, yes && reason == "too many", "quarantined %v: %s", yes, reason)
		synctest.Wait()
		v := view(9, control.State{Phase: control.Running})
		v.Batches["own"], v.Batches["other"] = control.State{Phase: control.Quarantined}, control.State{Phase: control.Quarantined}
		o.take(ctx, v)
		synctest.Wait()
		under := int64(0)
		o.delivered = func(string) int64 { return under } // this instance had delivered none of it
		v.Batches["later"] = control.State{Phase: control.Quarantined}
		v.Next++
		o.take(ctx, v)
		synctest.Wait()
		under = 7 // deliveries that were in flight
		o.deliveredOf("later")
		o.deliveredOf("good")
		synctest.Wait()
		o.take(ctx, view(11, control.State{Phase: control.Running})) // all batches are released
		o.deliveredOf("later")
		_, yes = o.quarantined("own")
		expect.That(t, !yes, "a batch that was released is quarantined")
		stop()
		want := []string{"quarantined own", "report 3 of own", "report 5 of other", "report 7 of later"}
		expect.That(t, slices.Equal(r.did, want), "got %q", r.did)
	})
}

// A bounded run that a gate pauses at its last record ends as paused, even if the order cannot be written.
func TestRun_S1_8_S4_12_endsPausedThoughTheOrderCannotBeWritten(t *testing.T) {
	t.Parallel()
	broker := fakekafka.Start(t)
	cfg := parse(t, "kafka: { brokers: [\""+broker.ListenAddrs()[0]+"\"] }\n")
	must.Get(topics.Ensure(t.Context(), kadm.NewClient(fakekafka.Client(t, broker)), topics.Plan(cfg)))(t)
	c := must.Get(New(cfg, Options{}))(t)
	c.orders.write = &recorder{failures: 1000}
	err := c.underOrders(t.Context(), func(context.Context) error {
		c.orders.pause(t.Context(), time.Now(), control.CodeNullRate, "too many")
		return nil
	}, true)
	paused, is := errors.AsType[*PausedError](err)
	expect.That(t, is && paused.State.Reason == "too many", "ended with: %v", err)
}
