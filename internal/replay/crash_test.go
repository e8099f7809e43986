package replay

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/replay/jobs"
	"github.com/switchback-geo/switchback/internal/replay/plan"
	"github.com/switchback-geo/switchback/internal/replay/ramp"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// onEndTxn calls fn before each end of a transaction. The broker goes on with other clients until
// fn returns, and then ends the transaction.
func (w *world) onEndTxn(fn func(*kmsg.EndTxnRequest)) {
	w.broker.ControlKey(int16(kmsg.EndTxn), func(req kmsg.Request) (kmsg.Response, error, bool) {
		w.broker.SleepControl(func() { fn(req.(*kmsg.EndTxnRequest)) })
		return nil, nil, false
	})
}

// dying executes a plan until it is about to commit behind so many transactions. Its ending comes once it is revived.
func (w *world) dying(s *Service, p *plan.Plan, afterBatches int32) (revive func(), end <-chan ended) {
	w.t.Helper()
	var ends atomic.Int32
	atCommit, revived := make(chan struct{}), make(chan struct{})
	w.onEndTxn(func(*kmsg.EndTxnRequest) {
		if ends.Add(1) == afterBatches+1 {
			close(atCommit)
			<-revived
		}
	})
	how := make(chan ended, 1)
	go func() {
		result, err := s.Execute(w.ctx(), p, ExecuteOptions{Call: ana("first")})
		how <- ended{result, err}
	}()
	<-atCommit
	return func() { close(revived) }, how
}

// ended is how an execution ended.
type ended struct {
	result Result
	err    error
}

// loseCommits breaks the connection at the first ends of transactions: nobody tells what became of them.
func (w *world) loseCommits() {
	var lost atomic.Int32
	w.broker.ControlKey(int16(kmsg.EndTxn), func(kmsg.Request) (kmsg.Response, error, bool) {
		if lost.Add(1) > 3 {
			return nil, nil, false
		}
		w.broker.KeepControl()
		return nil, errors.New("connection lost"), true
	})
}

// A replayer dies between sending its letters and committing them: the next one puts each back
// once, and the dead one, should it wake up, can do nothing any more.
func TestExecute_killed_in_the_middle_is_made_good_by_the_next(t *testing.T) {
	t.Parallel()
	for _, afterBatches := range []int32{0, 1} {
		t.Run(fmt.Sprintf("after %d transactions", afterBatches), func(t *testing.T) {
			w := newWorld(t)
			w.dieMany(inBatch + 20)
			dead := w.service()
			revive, end := w.dying(dead, w.plan(dead, deadletters.Filter{}), afterBatches)
			second := must.Get(w.service().Execute(w.ctx(), w.plan(w.service(), deadletters.Filter{}), ExecuteOptions{Call: takingOver("bo", "fixed")}))(t)
			revive()
			dies := <-end
			expect.That(t, errors.Is(dies.err, jobs.ErrFenced) && errors.Is(dies.err, ErrUndecided), "the killed replayer ended with %v, want jobs.ErrFenced and ErrUndecided", dies.err)
			first := dies.result
			expect.That(t, first.Reinjected == int(afterBatches)*inBatch && first.Reinjected+second.Reinjected == inBatch+20, "first %d, second %d put back", first.Reinjected, second.Reinjected)
			w.allOnce(inBatch + 20)
		})
	}
}

// allOnce fails unless so many letters stand in the source topic, each once, with one state and one event of a whole audit chain.
func (w *world) allOnce(n int) {
	w.t.Helper()
	sent := w.sent()
	expect.That(w.t, len(sent) == n, "%d dead letters were put back, want %d", len(sent), n)
	for id, times := range sent {
		expect.That(w.t, times == 1, "%s was put back %d times", id, times)
	}
	states, want := w.states(), deadletters.Replaying
	if w.alone {
		want = deadletters.Discarded
	}
	for id := range sent {
		expect.Equal(w.t, states[id].Status, want, id, "was put back")
	}
	expect.Equal(w.t, len(w.events()), n, "audit events")
	for _, r := range w.verify() {
		expect.Equal(w.t, r.Fault, "", "the chain of partition", r.Partition)
	}
}

// Two operators press the key at once, with plans that overlap, again and again.
func TestExecute_two_operators_at_once_put_each_letter_back_once(t *testing.T) {
	w := parallel(t)
	const rounds, letters = 5, 40
	for range rounds {
		w.dieMany(letters)
		plan := w.plan(w.service(), deadletters.Filter{})
		var wait sync.WaitGroup
		for range 3 {
			wait.Go(func() {
				_, err := w.service().Execute(w.ctx(), plan, ExecuteOptions{Call: ana("at once")})
				expect.That(t, err == nil || errors.Is(err, jobs.ErrFenced) || errors.Is(err, jobs.ErrLeased), "unexpected: %v", err)
			})
		}
		wait.Wait()
	}
	w.execute(w.service(), w.plan(w.service(), deadletters.Filter{})) // what fenced ones left
	w.allOnce(rounds * letters)
}

// behind is how many letters the tests have in a second batch.
const behind = 20

// counting gives a service that counts its decisions: each asks for the time once, and that goes on by it.
func (w *world) counting() (*Service, *atomic.Int32) {
	s := w.service()
	var n atomic.Int32
	s.now = func() time.Time { return start.Add(time.Duration(n.Add(1)) * time.Millisecond) }
	return s, &n
}

// What is decided carries its time, and a wave is judged before the next begins.
func TestExecute_S2_6_decides_nothing_ahead_of_a_gate_or_a_rate(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]ExecuteOptions{
		"rate":   {Rate: 400}, // 100 in a batch
		"canary": {Ramp: ramp.Ramp{Canary: 100}, Patience: time.Nanosecond},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.dieMany(200)
			s, decided := w.counting()
			plan := w.plan(s, deadletters.Filter{})
			var first int32
			before := decided.Load()
			var once sync.Once
			w.onEndTxn(func(*kmsg.EndTxnRequest) { once.Do(func() { first = decided.Load() - before }) })
			o.Call = ana("x")
			if _, err := s.Execute(w.ctx(), plan, o); err != nil {
				_, stopped := errors.AsType[*StopError](err)
				must.That(t, stopped, "%v", err)
			}
			if first < 100 || first > 150 { // operation, pace, lease and reports ask for the time, too; ahead, all 200 are decided
				t.Errorf("%d decisions at the first commit, want those of 100 dead letters", first)
			}
		})
	}
}

// The broker goes at the first commit: nobody tells what became of it, and what was prepared behind it is looked at again.
func TestExecute_a_lost_commit_and_what_was_prepared_behind_it_are_settled(t *testing.T) {
	w := parallel(t)
	w.dieMany(inBatch + behind)
	w.loseCommits()
	s := w.service(kgo.RequestRetries(1))
	r, err := s.Execute(w.ctx(), w.plan(s, deadletters.Filter{}), ExecuteOptions{Call: ana("x")})
	expect.That(t, err == nil && r.Reinjected+r.Already == inBatch+behind, "%+v, %v", r, err)
	w.allOnce(inBatch + behind)
}

// A letter is refused: the one that it was to stand for is not closed.
func TestExecute_C4_nobody_is_closed_for_a_refused_letter(t *testing.T) {
	w := parallel(t)
	large := fmt.Sprintf(square, noise(100_000))
	first := letter(0, "large", large)
	w.die(first)
	w.dieMany(inBatch + behind)
	w.die(again(first, "twin", 39))
	limit := "50000"
	altered, err := w.log.Admin().AlterTopicConfigs(w.ctx(), []kadm.AlterConfig{{Name: "max.message.bytes", Value: &limit}}, "features")
	must.That(t, err == nil && altered[0].Err == nil, "%v %v", err, altered)
	s := w.service()
	r := w.execute(s, w.plan(s, deadletters.Filter{}))
	expect.That(t, r.Reinjected == inBatch+behind && r.Duplicates == 0 && len(r.Skipped) == 2 && r.Skipped[0].ID == "large" && r.Skipped[1].ID == "twin", "%+v", r)
	large, twin := r.Skipped[0].Why, r.Skipped[1].Why
	expect.That(t, strings.Contains(large, "max.message.bytes") && strings.Contains(twin, "large, which has the same content, was not put back"), "large: %s; twin: %s", large, twin)
	w.allOnce(inBatch + behind)
}

// A missing topic that does not come back is not a lost broker: the call ends and names the topic.
func TestExecute_C4_endsWhereATopicIsMissing(t *testing.T) {
	for _, topic := range []string{"features.control", "features.dlq-status", "features.audit"} {
		t.Run(topic, func(t *testing.T) {
			w := parallel(t)
			w.die(letter(0, "a", fmt.Sprintf(square, "a")))
			s := w.service()
			p := w.plan(s, deadletters.Filter{})
			must.Get(kadm.NewClient(w.writer).DeleteTopics(t.Context(), topic))(t)
			_, err := s.Execute(w.ctx(), p, ExecuteOptions{Call: ana("fixed")})
			expect.That(t, err != nil && w.ctx().Err() == nil && strings.Contains(err.Error(), topic) && strings.Contains(err.Error(), "topics ensure"), "%v", err)
		})
	}
}
