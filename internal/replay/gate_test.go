package replay

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/replay/ramp"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// consume stands in for the consumer until the test ends: it closes each replayed letter, as the journal of internal/consumer
// does, with the status that fate gives it. The real one is in the integration tests.
func (w *world) consume(fate func(n int32) deadletters.Status) {
	w.t.Helper()
	var seen atomic.Int32
	w.each(func(ctx context.Context, cl *kgo.Client, r *kgo.Record) { w.close(ctx, cl, r, fate(seen.Add(1))) })
}

// each calls fn for each replayed letter until the test ends.
func (w *world) each(fn func(context.Context, *kgo.Client, *kgo.Record)) {
	w.t.Helper()
	cl := must.Get(kgo.NewClient(kgo.SeedBrokers(w.broker.ListenAddrs()...), kgo.ConsumeTopics("features"),
		kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.FetchMaxWait(50*time.Millisecond),
		kgo.RecordPartitioner(kgo.ManualPartitioner())))(w.t)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			records := cl.PollFetches(ctx).Records()
			for _, r := range records {
				fn(ctx, cl, r)
			}
		}
	}()
	w.t.Cleanup(func() { cancel(); <-done; cl.Close() })
}

func (w *world) close(ctx context.Context, cl *kgo.Client, r *kgo.Record, to deadletters.Status) {
	control, err := header.ParseControl(r.Headers)
	if err != nil {
		w.t.Error(err)
		return
	}
	reason := "delivered"
	if to == deadletters.Pending {
		reason = "failed again: geometry_invalid"
	}
	state, err := deadletters.Closing(r.Key, control, deadletters.Change{To: to, Reason: reason, By: "consumer c", At: start})
	if err != nil {
		w.t.Error(err)
		return
	}
	err = cl.ProduceSync(ctx, state.Record("features.dlq-status", r.Partition)).FirstErr()
	expect.That(w.t, err == nil || ctx.Err() != nil, "%v", err)
}

// well is the fate of letters whose cause is fixed.
func well(int32) deadletters.Status { return deadletters.Reprocessed }

func TestExecute_S2_6_canary_and_ramp_go_on_when_the_consumer_says_so(t *testing.T) {
	w := parallel(t)
	w.dieMany(60)
	w.consume(well)
	s := w.service()
	waves := map[int]int{}
	r, err := s.Execute(w.ctx(), w.plan(s, deadletters.Filter{}), ExecuteOptions{
		Call: ana("fixed"), Ramp: ramp.Ramp{Canary: 2, Factor: 4},
		Progress: func(p Progress) {
			if p.Phase == Gating {
				waves[p.Wave] = p.WaveSize
			}
		},
	})
	expect.That(t, err == nil && r.Reinjected == 60 && r.Outcome != nil && r.Outcome.Reprocessed == 60 && r.Outcome.UnderWay == 0, "%+v, outcome %+v, %v", r, r.Outcome, err)
	expect.That(t, waves[1] == 2 && waves[2] == 8 && waves[3] == 32 && len(waves) == 3, "waves %v", waves)
	w.allReprocessed(60)
}

// allReprocessed fails unless n letters were put back, each once, and all are finished.
func (w *world) allReprocessed(n int) {
	w.t.Helper()
	sent, states := w.sent(), w.states()
	for id, times := range sent {
		expect.That(w.t, times == 1 && states[id].Status == deadletters.Reprocessed, "%s was put back %d times and is %s", id, times, states[id].Status)
	}
	expect.That(w.t, len(sent) == n, "%d dead letters were put back, want %d", len(sent), n)
}

func TestExecute_S2_6_stops_by_itself_says_why_and_goes_on_with_the_same_plan(t *testing.T) {
	w := parallel(t)
	w.dieMany(60)
	var fixed atomic.Bool
	w.consume(func(n int32) deadletters.Status {
		if n == 3 && !fixed.Load() {
			return deadletters.Pending
		}
		return deadletters.Reprocessed
	})
	s, p := w.planned()
	o := ExecuteOptions{Call: ana("fixed"), Ramp: ramp.Ramp{Canary: 5, Factor: 10, MaxFailed: 0.02}}
	r, err := s.Execute(w.ctx(), p, o)
	stop, ok := errors.AsType[*StopError](err)
	must.That(t, ok && stop.Wave == 1 && stop.Size == 5 && stop.Failed == 1 && stop.Limit == 0.02 && strings.Contains(err.Error(), "geometry_invalid"), "%v: %+v", err, stop)
	if r.Reinjected != 5 || len(w.sent()) != 5 {
		t.Errorf("%+v, %d put back", r, len(w.sent()))
	}
	fixed.Store(true)
	o.Wait = true
	r, err = w.service().Execute(w.ctx(), p, o)
	expect.That(t, err == nil && r.Reinjected == 56 && r.Already == 4 && r.Left == 0 && r.Outcome.Reprocessed == 56, "went on with %+v, %v", r, err)
	status, err := s.Status(w.ctx(), p.ID)
	expect.That(t, err == nil && status.Attempted == 60 && status.Reprocessed == 60 && status.FailedAgain == 0 && status.UnderWay == 0, "status %+v, %v", status, err)
	if n := len(w.sent()); n != 60 {
		t.Errorf("%d dead letters were put back", n)
	}
}

// The limit holds while a wave is still being sent.
func TestExecute_S2_6_a_wave_is_stopped_before_its_end(t *testing.T) {
	w := parallel(t)
	w.dieMany(400)
	w.consume(func(int32) deadletters.Status { return deadletters.Pending })
	s := w.service()
	r, err := s.Execute(w.ctx(), w.plan(s, deadletters.Filter{}), ExecuteOptions{
		Call: ana("fixed"), Rate: 200, Ramp: ramp.Ramp{Gated: true, MaxFailed: 0.1},
	})
	_, ok := errors.AsType[*StopError](err)
	expect.That(t, ok && r.Reinjected < 400 && r.Reinjected >= 40, "%+v, %v", r, err)
}

func TestExecute_S2_6_loses_patience_with_a_consumer_that_does_not_run(t *testing.T) {
	w := parallel(t)
	w.dieMany(10)
	s := must.Get(New(w.cfg, Options{Index: inMemory()}))(t)
	t.Cleanup(s.Close)
	p, o := w.plan(s, deadletters.Filter{}), ExecuteOptions{Call: ana("fixed"), Ramp: ramp.Ramp{Canary: 3}, Patience: time.Second}
	r, err := s.Execute(w.ctx(), p, o)
	stop, ok := errors.AsType[*StopError](err)
	expect.That(t, ok && stop.Finished == 0 && strings.Contains(err.Error(), "is it running?") && r.Reinjected == 3 && r.NotReached == 7, "%+v, %v", r, err)
	// Applied again, it waits for these three before anything else.
	r, err = s.Execute(w.ctx(), p, o)
	expect.That(t, err != nil && strings.Contains(err.Error(), "of the 3 dead letters of an earlier call") && r.Reinjected == 0 && r.NotReached == 10, "again: %+v, %v", r, err)
}

func TestExecute_S4_8_wait_ends_with_what_became_of_each(t *testing.T) {
	w := parallel(t)
	w.dieMany(12)
	fates := []deadletters.Status{deadletters.Reprocessed, deadletters.Pending, deadletters.Escalated, deadletters.Superseded}
	w.consume(func(n int32) deadletters.Status { return fates[n%4] })
	s, p := w.planned()
	r, err := s.Execute(w.ctx(), p, ExecuteOptions{Call: ana("fixed"), Wait: true})
	expect.That(t, err == nil && r.Outcome.Reprocessed == 3 && r.Outcome.FailedAgain == 6 && r.Outcome.Escalated == 3 && r.Outcome.Closed == 3 && r.Outcome.UnderWay == 0, "%+v, %v", r.Outcome, err)
	awaited, err := s.Await(w.ctx(), p.ID, nil)
	expect.That(t, err == nil && awaited.Attempted == 12 && awaited.FailedAgain == 6, "%+v, %v", awaited, err)
	_, err = s.Status(w.ctx(), "nobody")
	expect.That(t, errors.Is(err, ErrNoReplay), "unknown replay: %v", err)
}

// What the consumer finished before the broker was lost counts in the end, too.
func TestExecute_S4_8_wait_counts_over_a_lost_broker(t *testing.T) {
	w := parallel(t)
	w.dieMany(12)
	var gone atomic.Bool
	back := make(chan struct{})
	w.consume(func(n int32) deadletters.Status {
		if n > 6 {
			<-back
			return deadletters.Reprocessed
		}
		return deadletters.Pending
	})
	w.broker.ControlKey(int16(kmsg.ListOffsets), func(kmsg.Request) (kmsg.Response, error, bool) {
		w.broker.KeepControl()
		if gone.Load() {
			return nil, errors.New("connection lost"), true
		}
		return nil, nil, false
	})
	s := w.service(kgo.RequestRetries(1))
	var once sync.Once
	r, err := s.Execute(w.ctx(), w.plan(s, deadletters.Filter{}), ExecuteOptions{Call: ana("fixed"), Wait: true, Progress: func(p Progress) {
		switch {
		case p.Phase == Broker:
			gone.Store(false)
			once.Do(func() { close(back) })
		case p.Phase == Waiting && p.Outcome.Finished() == 6:
			gone.Store(true)
		}
	}})
	expect.That(t, err == nil && r.Outcome.Reprocessed == 6 && r.Outcome.FailedAgain == 6 && r.Outcome.UnderWay == 0, "%+v, %v", r.Outcome, err)
}

// A letter that is sent to another topic leaves the pipeline.
func TestExecute_C4_to_another_topic(t *testing.T) {
	w := parallel(t)
	must.Get(w.log.Admin().CreateTopic(w.ctx(), 5, 1, nil, "elsewhere"))(t)
	w.dieMany(6)
	w.die(letter(0, "twin", string(letter(0, "letter-0", "").Value)))
	s := w.service()
	p := must.Get(s.Plan(w.ctx(), deadletters.Filter{}, PlanOptions{To: "elsewhere"}))(t)
	r := w.execute(s, p)
	if r.Reinjected != 7 || len(w.sent()) != 0 {
		t.Errorf("%+v, %v in the source topic", r, w.sent())
	}
	report := w.report(s, p.ID)
	expect.That(t, report.Attempted == 7 && report.Elsewhere == 7 && report.FailedAgain == 0, "status: %+v", report)
	for _, o := range []ExecuteOptions{{Call: ana("x"), Wait: true}, {Call: ana("x"), Ramp: ramp.Ramp{Canary: 1}}, {Call: ana("x"), Ramp: ramp.Ramp{Gated: true}}} {
		_, err := s.Execute(w.ctx(), p, o)
		expect.That(t, errors.Is(err, ErrOptions), "awaiting the consumer, %+v: %v", o, err)
	}
	for _, rec := range w.read("elsewhere") {
		want := kgo.StickyKeyPartitioner(nil).ForTopic("x").Partition(&kgo.Record{Key: rec.Key}, 5)
		expect.That(t, int(rec.Partition) == want, "key %s lies in partition %d, want %d", rec.Key, rec.Partition, want)
	}
	for id, state := range w.states() {
		expect.That(t, state.Status == deadletters.Discarded && strings.Contains(state.Reason, "sent to elsewhere: fixed"), "%s: %+v", id, state)
	}
	for _, to := range []string{"features", "features.dlq", "features.audit"} {
		_, err := s.Plan(w.ctx(), deadletters.Filter{}, PlanOptions{To: to})
		expect.That(t, errors.Is(err, ErrOptions), "to %s: %v", to, err)
	}
	_, err := s.Plan(w.ctx(), deadletters.Filter{}, PlanOptions{To: "nowhere"})
	expect.That(t, errors.Is(err, kafka.ErrNoTopic), "to a topic that is not there: %v", err)
}

// A copy of a replay record makes a second outcome. It is no other letter that is finished, and says nothing of a letter that was
// decided about since.
func TestExecute_S4_6_a_second_outcome_counts_for_nothing(t *testing.T) {
	w := parallel(t)
	w.dieMany(12)
	w.each(func(ctx context.Context, cl *kgo.Client, r *kgo.Record) {
		w.close(ctx, cl, r, deadletters.Pending)
		w.close(ctx, cl, r, deadletters.Reprocessed)
	})
	s, p := w.planned()
	r, err := s.Execute(w.ctx(), p, ExecuteOptions{Call: ana("fixed"), Wait: true})
	expect.That(t, err == nil && r.Outcome.FailedAgain == 12 && r.Outcome.Reprocessed == 0 && r.Outcome.UnderWay == 0, "%+v, %v", r.Outcome, err)
	status, err := s.Status(w.ctx(), p.ID)
	expect.That(t, err == nil && status.FailedAgain == 12 && status.Reprocessed == 0, "%+v, %v", status, err)
	done := w.change(Discard, deadletters.Filter{})
	must.That(t, done.Changed == 12, "%+v", done)
	before := must.Get(s.Status(w.ctx(), p.ID))(t)
	for _, copied := range w.read("features") {
		w.close(w.ctx(), w.writer, copied, deadletters.Reprocessed)
	}
	after, err := s.Status(w.ctx(), p.ID)
	expect.That(t, err == nil && reflect.DeepEqual(before, after), "%+v, before %+v, %v", after, before, err)
}
