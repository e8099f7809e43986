package replay

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/replay/operation"
	"github.com/switchback-geo/switchback/internal/replay/ramp"
	"github.com/switchback-geo/switchback/internal/replay/states"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/standin"
)

// consume closes each replayed letter until the test ends, with the status that fate gives it.
func (w *world) consume(fate func(n int32) deadletters.Status) {
	w.t.Helper()
	var seen atomic.Int32
	standin.Consume(w.t, w.broker.ListenAddrs(), func(ctx context.Context, cl *kgo.Client, r *kgo.Record) {
		standin.Close(ctx, w.t, cl, r, fate(seen.Add(1)), start)
	})
}

// well is the fate of letters whose cause is fixed.
func well(int32) deadletters.Status { return deadletters.Reprocessed }

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
	sent := w.sent()
	expect.That(t, r.Reinjected == 5 && len(sent) == 5, "%+v, %v put back", r, sent)
	fixed.Store(true)
	var waves []int
	o.Wait, o.Progress = true, func(p Progress) {
		if p.Phase == Gating && p.Wave > len(waves) {
			waves = append(waves, p.WaveSize)
		}
	}
	r, err = w.service().Execute(w.ctx(), p, o)
	expect.That(t, slices.Equal(waves, []int{5, 50}), "waves %v", waves)
	expect.That(t, err == nil && r.Reinjected == 56 && r.Already == 4 && r.Left == 0 && r.Outcome.Reprocessed == 56, "went on with %+v, %v", r, err)
	status, err := s.Status(w.ctx(), p.ID)
	expect.That(t, err == nil && status.Attempted == 60 && status.Reprocessed == 60 && status.FailedAgain == 0 && status.UnderWay == 0, "status %+v, %v", status, err)
	expect.Equal(t, len(w.sent()), 60, "dead letters were put back")
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
	expect.That(t, errors.Is(err, states.ErrNoReplay), "unknown replay: %v", err)
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
	p := w.planWith(s, deadletters.Filter{}, PlanOptions{To: "elsewhere"})
	r := w.execute(s, p)
	sent := w.sent()
	expect.That(t, r.Reinjected == 7 && len(sent) == 0, "%+v, %v in the source topic", r, sent)
	report := w.report(s, p.ID)
	expect.That(t, report.Attempted == 7 && report.Elsewhere == 7 && report.FailedAgain == 0, "status: %+v", report)
	for _, o := range []ExecuteOptions{{Call: ana("x"), Wait: true}, {Call: ana("x"), Ramp: ramp.Ramp{Canary: 1}}, {Call: ana("x"), Ramp: ramp.Ramp{Gated: true}}} {
		_, err := s.Execute(w.ctx(), p, o)
		expect.That(t, errors.Is(err, operation.ErrOptions), "awaiting the consumer, %+v: %v", o, err)
	}
	for _, rec := range w.read("elsewhere") {
		want := kgo.StickyKeyPartitioner(nil).ForTopic("x").Partition(&kgo.Record{Key: rec.Key}, 5)
		expect.That(t, int(rec.Partition) == want, "key %s lies in partition %d, want %d", rec.Key, rec.Partition, want)
	}
	for id, state := range w.states() {
		expect.That(t, state.Status == deadletters.Discarded && strings.Contains(state.Reason, "put back into elsewhere: fixed"), "%s: %+v", id, state)
	}
	_, err := s.Plan(w.ctx(), deadletters.Filter{}, PlanOptions{To: "nowhere"})
	expect.That(t, errors.Is(err, kafka.ErrNoTopic), "to a topic that is not there: %v", err)
}

// A copy of a replay record makes a second outcome. It is no other letter that is finished, and says nothing of a letter that was
// decided about since.
func TestExecute_S4_6_a_second_outcome_counts_for_nothing(t *testing.T) {
	w := parallel(t)
	w.dieMany(12)
	standin.Consume(t, w.broker.ListenAddrs(), func(ctx context.Context, cl *kgo.Client, r *kgo.Record) {
		standin.Close(ctx, t, cl, r, deadletters.Pending, start)
		standin.Close(ctx, t, cl, r, deadletters.Reprocessed, start)
	})
	s, p := w.planned()
	r, err := s.Execute(w.ctx(), p, ExecuteOptions{Call: ana("fixed"), Wait: true})
	expect.That(t, err == nil && r.Outcome.FailedAgain == 12 && r.Outcome.Reprocessed == 0 && r.Outcome.UnderWay == 0, "%+v, %v", r.Outcome, err)
	status, err := s.Status(w.ctx(), p.ID)
	expect.That(t, err == nil && status.FailedAgain == 12 && status.Reprocessed == 0, "%+v, %v", status, err)
	expect.Equal(t, w.change(Discard, deadletters.Filter{}).Changed, 12, "discarded")
	before := must.Get(s.Status(w.ctx(), p.ID))(t)
	for _, copied := range w.read("features") {
		standin.Close(w.ctx(), t, w.writer, copied, deadletters.Reprocessed, start)
	}
	after, err := s.Status(w.ctx(), p.ID)
	expect.That(t, err == nil && reflect.DeepEqual(before, after), "%+v, before %+v, %v", after, before, err)
}
