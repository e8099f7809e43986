package replay

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/replay/jobs"
	"github.com/switchback-geo/switchback/internal/replay/plan"
	"github.com/switchback-geo/switchback/internal/replay/ramp"
	"github.com/switchback-geo/switchback/internal/replay/states"
	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// job returns what a new process says of a job.
func (w *world) job(id string) control.Job {
	w.t.Helper()
	return must.Get(w.service().Job(w.ctx(), id))(w.t)
}

// jobIs waits until others see a job in a state.
func (w *world) jobIs(id string, want control.JobState) control.Job {
	w.t.Helper()
	var j control.Job
	eventually.Until(w.ctx(), w.t, "job "+id+" is "+string(want), func() (bool, string) {
		var err error
		j, err = w.service().Job(w.ctx(), id)
		return err == nil && j.State == want, fmt.Sprintf("%+v, %v", j, err)
	})
	return j
}

// order gives an order from another process.
func (w *world) order(verb control.JobVerb, id string) {
	w.t.Helper()
	must.Get(w.service().OrderJob(w.ctx(), id, "bo", verb))(w.t)
}

// slowly starts a replay of n letters, r1, in waves of one, and returns once the first is sent. Each is awaited before the next goes: release
// lets the consumer finish one more.
func (w *world) slowly(n int) (p *plan.Plan, ended <-chan error, release chan<- struct{}) {
	w.t.Helper()
	w.dieMany(n)
	released := make(chan struct{}, n)
	w.consume(func(int32) deadletters.Status {
		select {
		case <-released:
		case <-w.t.Context().Done():
		}
		return deadletters.Reprocessed
	})
	s := w.service()
	p = w.plan(s, deadletters.Filter{})
	o := ExecuteOptions{Call: ana("AREA mapped"), Ramp: ramp.Ramp{Canary: 1, Factor: 1}}
	o.ContinueCommand = func(letters int) string { return fmt.Sprintf("replayer replay --expect %d", letters) }
	end := make(chan error, 1)
	go func() {
		_, err := s.Execute(w.ctx(), p, o)
		end <- err
	}()
	eventually.Until(w.ctx(), w.t, "the canary is sent", func() (bool, string) {
		j, err := w.service().Job(w.ctx(), p.ID)
		return err == nil && j.Done == 1, fmt.Sprintf("%+v, %v", j, err)
	})
	return p, end, released
}

// An operator at another desk pauses a replay in the middle. It sends nothing until it is resumed, keeps its lease, and comes to its end,
// which a process that starts later still knows.
func TestJob_S4_6_C4_isPausedAndResumedByAnotherProcess(t *testing.T) {
	w := parallel(t)
	_, ended, release := w.slowly(5)
	w.order(control.PauseJob, "r1")
	w.jobIs("r1", control.JobPaused) // the consumer is awaited: nothing is sent
	release <- struct{}{}            // the canary is well: the next one would go
	eventually.Until(w.ctx(), t, "the canary is finished", func() (bool, string) {
		j := w.job("r1")
		return j.State == control.JobPaused && j.Reprocessed == 1, fmt.Sprintf("%+v", j)
	})
	for range 5 {
		release <- struct{}{}
	}
	_, err := w.service().Change(w.ctx(), deadletters.Filter{}, Discard, ana("x"), nil)
	expect.That(t, errors.Is(err, jobs.ErrLeased), "another replayer while it pauses: %v", err)
	j := w.job("r1")
	sent := w.sent()
	expect.That(t, j.State == control.JobPaused && j.Done == 1 && j.NotReached == 4 && j.Why == "paused by bo" && len(sent) == 1, "while it pauses %v were sent: %+v", sent, j)
	w.order(control.ResumeJob, "r1")
	must.Do(t, <-ended)
	w.allReprocessed(5)
	j = w.job("r1")
	want := control.JobCounts{Letters: 5, Done: 5, Transactions: 5, Wave: j.Wave, Reprocessed: 5, Taken: 5, Counted: true}
	expect.That(t, j.State == control.JobDone && j.JobCounts == want && j.Kind == control.JobReplay && j.By == "ana" && j.Reason == "AREA mapped" && j.Why == "", "%+v", j)
	_, err = w.service().OrderJob(w.ctx(), "r1", "bo", control.PauseJob)
	refused, is := errors.AsType[*jobs.OrderError](err)
	expect.That(t, is && refused.Job.State == control.JobDone, "pause after the end: %v", err)
}

// A replay that its gate stopped is told until the same plan has come to its end: what was not sent, why, and the command that goes on.
func TestOverview_S4_8_tellsWhatStopped(t *testing.T) {
	w := parallel(t)
	w.dieMany(12)
	s, p := w.planned()
	call := ana("AREA mapped")
	call.ContinueCommand = func(int) string { return "replayer replay --plan plan.jsonl --execute --reason 'AREA mapped'" }
	w.consume(func(int32) deadletters.Status { return deadletters.Pending })
	_, err := s.Execute(w.ctx(), p, ExecuteOptions{Call: call, Ramp: ramp.Ramp{Canary: 2}})
	_, stopped := errors.AsType[*StopError](err)
	must.That(t, stopped, "%v", err)
	look := w.look(w.service().Overview())
	must.That(t, len(look.Jobs) == 1 && look.Finished == 0, "%+v", look)
	j := look.Jobs[0]
	expect.That(t, j.ID == "r1" && j.State == control.JobStopped && j.By == "ana" && j.Letters == 12 && j.NotReached == 10 && strings.Contains(j.Why, "of the 2 dead letters of wave 1 failed again") && j.Command == call.ContinueCommand(12),
		"%+v", j)
	must.Get(s.Execute(w.ctx(), p, ExecuteOptions{Call: ana("again")}))(t)
	look = w.look(w.service().Overview())
	expect.That(t, len(look.Jobs) == 1 && look.Jobs[0].State == control.JobDone, "%+v", look.Jobs)
	done := map[string]int{} // each call is an action of its own, with its reason and what it did
	all, err := s.Actions(w.ctx(), audit.Filter{})
	for _, act := range all {
		done[act.Reason] += act.Done[audit.Replayed]
	}
	expect.That(t, err == nil && len(all) == 2 && done["AREA mapped"] == 2 && done["again"] == 12, "%+v, %v", all, err)
}

// A control topic that cannot be read while a job runs keeps it from nothing but orders: the work goes on, since only the transactional id
// keeps two replayers from writing at once.
func TestJob_S4_6_goesOnWhileOrdersCannotBeRead(t *testing.T) {
	w := parallel(t)
	_, ended, release := w.slowly(3)
	refused := make(chan struct{}, 1)
	w.broker.ControlKey(int16(kmsg.ListOffsets), func(r kmsg.Request) (kmsg.Response, error, bool) {
		w.broker.KeepControl()
		asked := r.(*kmsg.ListOffsetsRequest)
		if len(asked.Topics) != 1 || asked.Topics[0].Topic != "features.control" {
			return nil, nil, false
		}
		answer := asked.ResponseKind().(*kmsg.ListOffsetsResponse)
		topic := kmsg.NewListOffsetsResponseTopic()
		topic.Topic = "features.control"
		one := kmsg.NewListOffsetsResponseTopicPartition()
		one.ErrorCode = kerr.TopicAuthorizationFailed.Code
		topic.Partitions = append(topic.Partitions, one)
		answer.Topics = append(answer.Topics, topic)
		select {
		case refused <- struct{}{}:
		default:
		}
		return answer, nil, true
	})
	<-refused
	for range 3 {
		release <- struct{}{}
	}
	must.Do(t, <-ended)
	w.allReprocessed(3)
}

// pausedBetween starts a discard of two transactions that pauses between them, with the second one prepared. decided counts what was
// decided about.
func (w *world) pausedBetween(behind int) (id string, decided *int, ended <-chan error) {
	w.t.Helper()
	w.dieMany(inBatch + behind)
	s := w.service()
	chosen := must.Get(s.selectBy(w.ctx(), deadletters.Filter{}))(w.t)
	op := must.Get(s.operation(string(Discard), ana("x"), deadletters.Filter{}))(w.t)
	decided = new(int)
	end := make(chan error, 1)
	go func() {
		_, err := s.change(w.ctx(), op, chosen.positions, nil, func(_ context.Context, st *states.Table, l *deadletters.Letter) (decision, error) {
			if *decided++; *decided == inBatch+1 { // of the batch that is prepared while the first is written
				w.order(control.PauseJob, op.ID)
				eventually.Until(w.ctx(), w.t, "the order is heard", func() (bool, string) {
					j := w.job(op.ID)
					return j.Why == "paused by bo", fmt.Sprintf("%+v", j)
				})
			}
			return s.changed(op, Discard, st, l)
		})
		end <- err
	}()
	j := w.jobIs(op.ID, control.JobPaused)
	expect.That(w.t, j.Done == inBatch && j.NotReached == behind, "while it pauses: %+v", j)
	return op.ID, decided, end
}

// What was prepared before a pause is decided again after it, and counted once.
func TestJob_S4_6_decidesAgainAfterAPause(t *testing.T) {
	w := parallel(t)
	id, decided, ended := w.pausedBetween(20)
	w.order(control.ResumeJob, id)
	must.Do(t, <-ended)
	want := control.JobCounts{Letters: inBatch + 20, Done: inBatch + 20, Transactions: 2}
	j := w.job(id)
	expect.That(t, j.JobCounts == want && j.State == control.JobDone, "%+v", j)
	expect.Equal(t, [2]int{w.statuses()[deadletters.Discarded], *decided}, [2]int{inBatch + 20, inBatch + 2*20}, "discarded, decided about")
}

// What was prepared before a pause is not written when the job is cancelled then.
func TestJob_S4_6_isCancelledBetweenTransactions(t *testing.T) {
	w := parallel(t)
	id, _, ended := w.pausedBetween(20)
	w.order(control.CancelJob, id)
	c, is := errors.AsType[*jobs.CancelledError](<-ended)
	expect.That(t, is && c.NotReached == 20, "%+v", c)
	expect.Equal(t, w.statuses()[deadletters.Discarded], inBatch, "discarded dead letters")
}

// A job that may not write to the control topic any more ends at once, between two transactions: others take it for dead. They see it as
// stopped, with the command that goes on.
func TestJob_S4_6_endsWhenTheControlTopicCannotBeWritten(t *testing.T) {
	w := parallel(t)
	w.dieMany(3)
	s := w.service()
	s.now = time.Now // the life of a lease is counted by it
	call := ana("x")
	call.ContinueCommand = func(int) string { return "replayer replay" }
	ended := w.canary(s, call, 1)
	w.broker.ControlKey(int16(kmsg.Produce), func(r kmsg.Request) (kmsg.Response, error, bool) {
		w.broker.KeepControl()
		return refused(r, kerr.TopicAuthorizationFailed), nil, true // of the control topic alone: nobody else writes
	})
	err := <-ended
	_, denied := errors.AsType[*retrytopics.DeniedError](err)
	expect.That(t, denied && strings.HasPrefix(err.Error(), "the lease could not be renewed") && strings.Contains(err.Error(), "features.control"), "%v", err)
	later := w.service()
	later.now = func() time.Time { return time.Now().Add(later.jobs.Life + time.Second) }
	j, err := later.Job(w.ctx(), "r1")
	expect.That(t, err == nil && j.State == control.JobStopped && j.NotReached == 2 && j.Command == "replayer replay", "%+v, %v", j, err)
}

// A job that begins removes what is kept no longer, with the orders for it.
func TestJob_S4_6_removesWhatIsKeptNoLonger(t *testing.T) {
	w := parallel(t)
	w.dieMany(1)
	s := w.service()
	leases := must.Get(control.OpenLeases(s.opts, "features.control"))(t)
	defer leases.Close()
	long := start.Add(-control.KeepJobsFor - time.Second)
	must.Do(t, leases.PutJob(w.ctx(), control.Job{ID: "old", Run: "x", Kind: control.JobUndo, State: control.JobDone, Began: long, Heard: long}))
	must.Do(t, leases.PutJobOrder(w.ctx(), "old", control.JobOrder{Verb: control.PauseJob, Run: "x", At: long}))
	w.execute(s, w.plan(s, deadletters.Filter{}))
	view, err := control.Read(w.ctx(), s.opts, "features.control")
	expect.That(t, err == nil && len(view.Jobs) == 1 && view.Jobs["r1"].State == control.JobDone && len(view.JobOrders) == 0, "%+v, %+v, %v", view.Jobs, view.JobOrders, err)
}

func TestJobState_S4_6_atTheEnd(t *testing.T) {
	t.Parallel()
	cancelled := fmt.Errorf("x: %w", &jobs.CancelledError{})
	for _, c := range []struct {
		name   string
		err    error
		counts control.JobCounts
		want   control.JobState
	}{
		{"all reached", nil, control.JobCounts{}, control.JobDone},
		{"all reached, and some failed again", nil, control.JobCounts{FailedAgain: 1}, control.JobFailedAgain},
		{"the gate refuses what was sent last", &StopError{}, control.JobCounts{FailedAgain: 1}, control.JobFailedAgain},
		{"the consumer is not awaited any longer", &StopError{}, control.JobCounts{}, control.JobDone},
		{"the watched group stands still", &StopError{}, control.JobCounts{Watched: control.JobWatch{Waiting: 1}}, control.JobStopped},
		{"the gate", fmt.Errorf("x: %w", &StopError{}), control.JobCounts{NotReached: 1, FailedAgain: 1}, control.JobStopped},
		{"a signal", fmt.Errorf("x: %w", context.Canceled), control.JobCounts{NotReached: 1}, control.JobStopped},
		{"an operator", cancelled, control.JobCounts{NotReached: 1}, control.JobCancelled},
		{"an operator, while the consumer is awaited", cancelled, control.JobCounts{FailedAgain: 1}, control.JobCancelled},
		{"another replayer", jobs.ErrFenced, control.JobCounts{NotReached: 1}, control.JobFailed},
		{"an error", errors.New("denied"), control.JobCounts{NotReached: 1}, control.JobFailed},
	} {
		expect.Equal(t, jobStateEnded(c.err, c.counts), c.want, c.name)
	}
}

// What failed again and is put back once more is one dead letter that the replay took, not two.
func TestJob_S4_6_countsWhatItTakesAgainOnce(t *testing.T) {
	w := parallel(t)
	w.dieMany(3)
	s, p := w.planned()
	w.execute(s, p)
	for _, id := range []string{"letter-0", "letter-1", "letter-2"} {
		w.ends(id, deadletters.Pending)
	}
	w.execute(w.service(), p)
	j := w.job(p.ID)
	expect.That(t, j.Done == 3 && j.Taken == 3 && j.Again, "%+v", j)
}
