package replay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/replay/jobs"
	"github.com/switchback-geo/switchback/internal/replay/operation"
	"github.com/switchback-geo/switchback/internal/replay/ramp"
	"github.com/switchback-geo/switchback/internal/replay/states"
	"github.com/switchback-geo/switchback/internal/replay/transaction"
	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

// takingOver is the call of an operator who ends the replayer that is at work.
func takingOver(by, reason string) operation.Call {
	return operation.Call{By: by, Reason: reason, Lease: operation.LeaseOptions{TakeOver: true}}
}

// canary replays everything and waits until the first letters, which are judged before the others go, are sent.
func (w *world) canary(s *Service, c operation.Call, letters int) <-chan error {
	w.t.Helper()
	p := w.plan(s, deadletters.Filter{})
	ended, sent := make(chan error, 1), make(chan struct{}, 1)
	go func() {
		_, err := s.Execute(w.ctx(), p, ExecuteOptions{Call: c, Ramp: ramp.Ramp{Canary: letters}, Progress: func(p Progress) {
			if p.Phase == Gating {
				select {
				case sent <- struct{}{}:
				default:
				}
			}
		}})
		ended <- err
	}()
	<-sent
	return ended
}

func (w *world) lease() *control.Lease {
	w.t.Helper()
	view := must.Get(control.Read(w.ctx(), w.service().opts, "features.control"))(w.t)
	return view.Lease
}

// Two calls of one service are as two processes: the second is refused, or waits, while the first one is at work. Questions are
// answered meanwhile.
func TestService_C4_twoCallsAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kfake.SeedTopics(2, "elsewhere"))
	w.dieMany(10)
	s, p := w.planned()
	first, gating := make(chan error, 1), make(chan struct{})
	var once sync.Once
	go func() {
		_, err := s.Execute(w.ctx(), p, ExecuteOptions{Call: ana("AREA mapped"), Ramp: ramp.Ramp{Canary: 2}, Progress: func(p Progress) {
			if p.Phase == Gating {
				once.Do(func() { close(gating) })
			}
		}})
		first <- err
	}()
	<-gating
	one := deadletters.Filter{IDs: []string{"letter-9"}}
	if _, err := s.Change(w.ctx(), one, Discard, operation.Call{By: "bo", Reason: "x"}, nil); !errors.Is(err, jobs.ErrLeased) {
		t.Errorf("the second: %v", err)
	}
	waits := make(chan string, 1)
	third := operation.Call{By: "cy", Reason: "not wanted", Lease: operation.LeaseOptions{Wait: time.Minute, Waiting: func(holder string) { waits <- holder }}}
	last := make(chan error, 1)
	go func() {
		_, err := s.Change(w.ctx(), one, Escalate, third, nil)
		last <- err
	}()
	holder := <-waits
	expect.That(t, strings.HasPrefix(holder, "ana on "), "the third waits for %s", holder)
	var questions sync.WaitGroup
	for i := range 3 {
		questions.Go(func() {
			_, err := s.Plan(w.ctx(), one, PlanOptions{ID: fmt.Sprintf("q%d", i), To: "elsewhere"})
			expect.That(t, err == nil, "%v", err)
			r, err := s.Status(w.ctx(), "r1")
			expect.That(t, err == nil && r.UnderWay == 2, "%+v, %v", r, err)
		})
	}
	questions.Wait()
	w.consume(well)
	expect.Do(t, <-first, "the first")
	expect.Do(t, <-last, "the third")
	w.allReprocessed(10)
	by := map[string]int{}
	for _, e := range w.operations() {
		by[e.By]++
	}
	expect.That(t, by["ana"] == 1 && by["bo"] == 0, "operations %v", by)
}

// put writes another replayer's lease.
func (w *world) put(s *Service, l control.Lease) {
	w.t.Helper()
	leases := must.Get(control.OpenLeases(s.opts, "features.control"))(w.t)
	defer leases.Close()
	must.Do(w.t, leases.Put(w.ctx(), l))
}

// refused is the answer to a request to produce that refuses all of it.
func refused(r kmsg.Request, why *kerr.Error) kmsg.Response {
	answer := r.ResponseKind().(*kmsg.ProduceResponse)
	for _, topic := range r.(*kmsg.ProduceRequest).Topics {
		of := kmsg.NewProduceResponseTopic()
		of.Topic, of.TopicID = topic.Topic, topic.TopicID
		for _, p := range topic.Partitions {
			one := kmsg.NewProduceResponseTopicPartition()
			one.Partition, one.ErrorCode = p.Partition, why.Code
			of.Partitions = append(of.Partitions, one)
		}
		answer.Topics = append(answer.Topics, of)
	}
	return answer
}

// held is a lease that is signed and renewed.
func (w *world) held(s *Service) *jobs.Lease {
	w.t.Helper()
	l := s.jobs.NewLease(operation.Operation{ID: "op-a", By: "ana", Word: "replay", Reason: "x"})
	w.t.Cleanup(func() { l.Release(w.ctx()) })
	must.Do(w.t, l.Await(w.ctx()))
	must.Do(w.t, l.Take(w.ctx()))
	return l
}

// renewed waits for two renewals from now on: one may have been under way.
func (w *world) renewed(l *jobs.Lease) {
	w.t.Helper()
	for range 2 {
		before := w.lease()
		eventually.Until(w.ctx(), w.t, "a renewal", func() (bool, string) {
			now := w.lease()
			return now.Token == l.Token() && now.Renewed.After(before.Renewed), now.String()
		})
	}
}

// A lease is renewed for as long as the command works, over all of its sessions, also when the first signature of one fails.
func TestLease_C4_isRenewedOverAllSessions(t *testing.T) {
	w := parallel(t)
	w.broker.ControlKey(int16(kmsg.Produce), func(r kmsg.Request) (kmsg.Response, error, bool) {
		return refused(r, kerr.PolicyViolation), nil, true
	})
	l := w.service().jobs.NewLease(operation.Operation{ID: "op-a", By: "ana", Word: "replay", Reason: "x"})
	defer l.Release(w.ctx())
	must.Do(t, l.Await(w.ctx()))
	must.That(t, l.Take(w.ctx()) != nil, "the broker took the signature")
	for range 2 {
		if err := l.Await(w.ctx()); err != nil { // the next session
			t.Fatal(err)
		}
		must.Do(t, l.Take(w.ctx()))
		w.renewed(l)
	}
	err := w.service().jobs.NewLease(operation.Operation{ID: "op-c", By: "cy", Word: "discard", Reason: "y"}).Await(w.ctx())
	expect.That(t, errors.Is(err, jobs.ErrLeased), "another replayer, without --take-over: %v", err)
}

// A command that lost the broker does not go on when another replayer took over meanwhile, whether that one still works or has ended.
func TestLease_C4_aLostSessionEndsBehindAnotherReplayer(t *testing.T) {
	t.Parallel()
	for name, released := range map[string]bool{"which has ended": true, "which works": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			s := w.service()
			l := w.held(s)
			ctx, stop := l.Context(w.ctx())
			defer stop()
			w.put(s, control.Lease{Token: "b", Owner: "bob", Since: start, Renewed: time.Now(), Generation: 1, Released: released})
			<-ctx.Done()  // the renewal sees it
			for range 2 { // sessions
				err := l.Await(w.ctx())
				expect.That(t, errors.Is(err, jobs.ErrFenced) && strings.Contains(err.Error(), "bob") && !lost(err), "%v", err)
				again, named := l.Fenced(w.ctx(), err)
				expect.That(t, !again && named.Error() == err.Error(), "again %v: %v", again, named)
			}
			again, named := l.Fenced(w.ctx(), jobs.ErrFenced)
			expect.That(t, !again && strings.Contains(named.Error(), "bob"), "again %v: %v", again, named)
		})
	}
}

// A replayer that cannot renew its lease ends, also when no broker answers at all.
func TestLease_C4_whoCannotRenewEnds(t *testing.T) {
	w := parallel(t)
	s := w.service()
	s.jobs.Life = 500 * time.Millisecond
	l := s.jobs.NewLease(operation.Operation{ID: "op-a", By: "ana", Word: "replay", Reason: "x"})
	ctx, stop := l.Context(w.ctx())
	defer stop()
	must.Do(t, l.Take(w.ctx()))
	w.broker.Close()
	<-ctx.Done()
	expect.That(t, strings.HasPrefix(context.Cause(ctx).Error(), "the lease could not be renewed"), "%v", context.Cause(ctx))
	l.Release(w.ctx()) // does not wait for the broker for ever
}

// After a commit whose answer was lost, the next session knows the changes of its own operation.
func TestChange_C4_knowsItsOwnChanges(t *testing.T) {
	t.Parallel()
	for _, v := range Verbs() {
		t.Run(string(v), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.dieMany(3)
			s := w.service()
			if v == Reopen {
				must.Get(s.Change(w.ctx(), deadletters.Filter{}, Discard, ana("first"), nil))(t)
			}
			began := len(w.operations())
			selected := must.Get(v.Selection(deadletters.Filter{}))(t)
			chosen := must.Get(s.selectBy(w.ctx(), selected))(t)
			op := must.Get(s.operation(string(v), ana("why"), deadletters.Filter{}))(t)
			stage := func(_ context.Context, st *states.Table, l *deadletters.Letter) (decision, error) {
				return s.changed(op, v, st, l)
			}
			for range 2 { // the second session knows nothing of the first one's commit
				run := s.changing(op, chosen.positions, stage)
				run.lease = s.jobs.NewLease(op)
				run.job = run.lease.StartJob(op, run.letters)
				must.Do(t, run.session(w.ctx()))
				run.lease.Release(w.ctx())
				expect.That(t, run.result.Changed == 3 && run.result.Left == 0, "changed %d, left %+v", run.result.Changed, run.result.LeftBy)
			}
			expect.Equal(t, len(w.operations())-began, 1, "beginnings of the operation in the audit trail")
		})
	}
}

// isBobs is the lease of a replayer that took over.
var isBobs = control.Lease{Token: "b", Owner: "bob on vm", Operation: "op-b", Generation: 1}

// A replayer slept, and another one took over meanwhile. The first ends once it wakes up, also where it sends nothing but waits. One that
// has reached all dead letters goes on waiting for the consumer: it writes nothing any more.
func TestLease_C4_whoWasTakenOverEnds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		letters       int
		paused, ended bool
	}{
		"waits for its canary":  {letters: 3},
		"is paused":             {letters: 3, paused: true},
		"the other one ended":   {letters: 3, paused: true, ended: true},
		"has reached the last":  {letters: 1},
		"has, and is taken for": {letters: 1, ended: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := parallel(t)
			p, ended, release := w.slowly(c.letters)
			if c.paused {
				w.order(control.PauseJob, p.ID)
				w.jobIs(p.ID, control.JobPaused)
			}
			bobs := isBobs
			bobs.Released = c.ended
			w.put(w.service(), bobs)
			if c.letters == 1 {
				w.jobIs(p.ID, control.JobDone) // as everybody sees it: nothing is left to send
				release <- struct{}{}
				must.Do(t, <-ended)
				return
			}
			err := <-ended
			expect.That(t, errors.Is(err, jobs.ErrFenced) && strings.HasPrefix(err.Error(), "bob on vm") && len(w.sent()) == 1, "%v", err)
		})
	}
}

// A replayer that lost the broker, and is taken over while it waits for it, says by whom.
func TestPersist_C4_namesWhoTookOver(t *testing.T) {
	w := parallel(t)
	s := w.service()
	l := w.held(s)
	err := s.persist(w.ctx(), l, func(context.Context) error { return transaction.ErrLost }, func(error) { w.put(s, isBobs) })
	expect.That(t, errors.Is(err, jobs.ErrFenced) && strings.HasPrefix(err.Error(), "bob on vm"), "%v", err)
}

// said is a log that tells of each line.
type said chan string

func (s said) Write(line []byte) (int, error) {
	s <- string(line)
	return len(line), nil
}

// A replayer that slept for longer than a lease lives, while it gave a sign of life, gives another one when it wakes up.
func TestLease_C4_triesOnceMoreAfterALongSleep(t *testing.T) {
	w := parallel(t)
	s := w.service()
	lines := make(said, 100)
	s.jobs.Log, s.jobs.Life, s.jobs.Renewal = slog.New(slog.NewTextHandler(lines, nil)), testrun.Patient(500*time.Millisecond), testrun.Patient(300*time.Millisecond)
	l := s.jobs.NewLease(operation.Operation{ID: "op-a", By: "ana", Word: "replay", Reason: "x"})
	ctx, stop := l.Context(w.ctx())
	defer stop()
	defer l.Release(w.ctx())
	must.Do(t, l.Take(w.ctx()))
	var signs atomic.Int32
	w.broker.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		w.broker.KeepControl()
		if signs.Add(1) == 1 {
			w.broker.SleepControl(func() {
				for !strings.Contains(<-lines, "trying again") {
				}
			})
		}
		return nil, nil, false
	})
	w.renewed(l)
	must.Do(t, context.Cause(ctx))
}

// Of those that wait for one replayer, one is faster. The others go on waiting.
func TestLease_C4_whoWaitsGoesOnWaiting(t *testing.T) {
	w := parallel(t)
	w.dieMany(3)
	s := w.service()
	s.jobs.Life = testrun.Patient(500 * time.Millisecond) // after which the other one's is nobody's
	var starts atomic.Int32
	w.broker.ControlKey(int16(kmsg.InitProducerID), func(r kmsg.Request) (kmsg.Response, error, bool) {
		w.broker.KeepControl()
		if r.(*kmsg.InitProducerIDRequest).TransactionalID != nil && starts.Add(1) == 1 {
			w.broker.SleepControl(func() { w.put(w.service(), isBobs) })
		}
		return nil, nil, false
	})
	c := ana("x")
	c.Lease = operation.LeaseOptions{Wait: time.Hour}
	r, err := s.Change(w.ctx(), deadletters.Filter{}, Discard, c, nil)
	expect.That(t, err == nil && r.Changed == 3, "%+v, %v", r, err)
}

// A replayer that holds the state directory while it sleeps learns who took over, although that one waits for the directory.
func TestStateDir_C4_namesWhoTookOver(t *testing.T) {
	t.Parallel()
	w := noTopics(t)
	w.dieOfSpring(5)
	dir := t.TempDir()
	a, b := w.inDirectory(dir), w.inDirectory(dir)
	leases := must.Get(a.store.OpenLeases())(t)
	must.Do(t, leases.Put(w.ctx(), isBobs))
	must.Do(t, leases.Put(w.ctx(), control.Lease{Token: "a"})) // a renewal that was under way when bob took over
	expect.Equal(t, must.Get(b.store.Control(w.ctx()))(t).Lease.Owner, isBobs.Owner, "who is at work")
	must.Do(t, leases.Put(w.ctx(), control.Lease{Token: "b", Generation: 1, Released: true}))
	wake, first := w.dying(a, w.plan(a, deadletters.Filter{}), 0)
	second := make(chan error, 1)
	plan := w.plan(b, deadletters.Filter{})
	go func() {
		_, err := b.Execute(w.ctx(), plan, ExecuteOptions{Call: takingOver("bob", "y")})
		second <- err
	}()
	eventually.Until(w.ctx(), t, "bob takes over", func() (bool, string) {
		view := must.Get(b.store.Control(w.ctx()))(t)
		return strings.HasPrefix(view.Lease.Owner, "bob"), view.Lease.String()
	})
	wake()
	err := (<-first).err
	expect.That(t, errors.Is(err, jobs.ErrFenced) && strings.HasPrefix(err.Error(), "bob on"), "%v", err)
	must.Do(t, <-second)
	w.eachOnce(b, 5)
}

// While a pruning looked for what to delete, or slept in its first transaction, another replayer took over and made a dead letter pending
// again. Its record stays.
func TestPrune_C4_deletesNothingOnceAnotherTookOver(t *testing.T) {
	t.Parallel()
	for topic, after := range map[string]int32{"features.dlq": 0, "features.control": 1} { // whose end is asked for, after so many transactions
		t.Run(topic, func(t *testing.T) {
			w := parallel(t)
			w.die(letter(0, "a", fmt.Sprintf(square, "a")))
			w.resolve(start.AddDate(0, 0, -31), deadletters.Discarded, 0, "a")
			s, other := w.service(), w.service()
			s.jobs.Renewal = time.Hour // only the pruning looks, not a renewal beside it
			var ends, looks atomic.Int32
			w.broker.ControlKey(int16(kmsg.EndTxn), func(kmsg.Request) (kmsg.Response, error, bool) {
				w.broker.KeepControl()
				ends.Add(1)
				return nil, nil, false
			})
			w.broker.ControlKey(int16(kmsg.ListOffsets), func(r kmsg.Request) (kmsg.Response, error, bool) {
				w.broker.KeepControl()
				if r.(*kmsg.ListOffsetsRequest).Topics[0].Topic == topic && ends.Load() >= after && looks.Add(1) == 1 {
					w.broker.SleepControl(func() {
						_, err := other.Change(w.ctx(), deadletters.Filter{IDs: []string{"a"}, Statuses: []deadletters.Status{deadletters.Discarded}}, Reopen, takingOver("bob", "not yet"), nil)
						expect.Do(t, err)
					})
				}
				return nil, nil, false
			})
			_, err := s.Prune(w.ctx(), start.AddDate(0, 0, -30), ana("monthly"))
			expect.That(t, errors.Is(err, jobs.ErrFenced) && strings.HasPrefix(err.Error(), "bob on"), "%v", err)
			expect.Equal(t, len(w.read("features.dlq")), 1, "records of the DLQ")
		})
	}
}
