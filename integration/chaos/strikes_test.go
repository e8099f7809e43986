//go:build unix

package chaos

import (
	"context"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// strike is one kind of fault: it happens and is over when the function returns.
// What it needs to be in the middle of, it waits for.
type strike struct {
	name string
	do   func(*scene)
}

// strikes lists every kind, for the mixed test. In its short form the broker is
// not away for long.
func strikes(short bool) []strike {
	away := 20 * time.Second
	if short {
		away = 5 * time.Second
	}
	return []strike{
		{"kill", (*scene).strikeKill},
		{"freeze", (*scene).strikeFreeze},
		{"expire", (*scene).strikeExpire},
		{"join or leave", (*scene).strikeChurn},
		{"broker killed", (*scene).strikeBrokerKill},
		{"broker stopped", func(sc *scene) { sc.strikeBrokerStop(sc.within(away)) }},
		{"network", (*scene).strikeNetwork},
	}
}

// strikeKill kills one worker, or all of them one time in four, and starts them
// again a moment later.
func (sc *scene) strikeKill() {
	sc.t.Helper()
	sc.progress(50)
	sc.pause(sc.within(500 * time.Millisecond))
	names := sc.fleet.names()
	if sc.rng.IntN(4) > 0 {
		names = []string{sc.pick()}
	}
	sc.fleet.kill(names...)
	sc.pause(sc.within(300 * time.Millisecond))
	for _, name := range names {
		sc.fleet.start(name)
	}
}

// strikeFreeze freezes a worker until the group has given its partitions away and
// the others have worked on them, and thaws it: it believes that it still owns
// them.
func (sc *scene) strikeFreeze() {
	sc.t.Helper()
	sc.progress(50)
	name := sc.pick()
	if !sc.fleet.freeze(name) {
		return // it has just ended by itself, which the fleet reports
	}
	sc.pause(sessionTimeout + sc.within(sessionTimeout))
	if len(sc.fleet.names()) > 0 {
		sc.progress(50)
	}
	sc.fleet.thaw(name)
}

// strikeExpire freezes a worker in the middle of a transaction for longer than the
// broker lets one be open, and thaws it.
func (sc *scene) strikeExpire() {
	sc.t.Helper()
	sc.progress(50)
	for began := time.Now(); time.Since(began) < stallBound(); { // most of the time a busy worker has a transaction open
		name := sc.pick()
		if !sc.fleet.freeze(name) {
			return
		}
		if sc.transaction(name) == "Ongoing" {
			sc.pause(200 * time.Millisecond) // its last request may be a commit that is still on its way
			if sc.transaction(name) == "Ongoing" {
				sc.expire(name)
				return
			}
		}
		sc.fleet.thaw(name)
		sc.pause(sc.within(50 * time.Millisecond))
	}
	sc.t.Errorf("seed %d: no worker was ever met in a transaction", sc.seed)
}

// expire waits until the broker has given up the transaction of a frozen worker.
func (sc *scene) expire(name string) {
	sc.t.Helper()
	defer sc.fleet.thaw(name)
	ctx, cancel := context.WithTimeout(sc.ctx, testrun.Patient(4*transactionTimeout))
	defer cancel()
	for state := sc.transaction(name); state != "CompleteAbort"; state = sc.transaction(name) {
		select {
		case <-time.After(100 * time.Millisecond):
			continue
		case <-ctx.Done():
		}
		sc.t.Errorf("seed %d: the transaction of the frozen worker %s is %s, its timeout is %v",
			sc.seed, name, state, transactionTimeout)
		return
	}
	sc.expired++
}

// transaction is the state that the broker gives to a worker's transaction.
func (sc *scene) transaction(name string) string {
	id := sc.base.Group + "-" + name
	described, err := sc.log.Admin().DescribeTransactions(sc.ctx, id)
	if err != nil {
		return err.Error()
	}
	return described[id].State
}

// strikeChurn lets an instance leave in order, or one more join.
func (sc *scene) strikeChurn() {
	sc.t.Helper()
	sc.progress(20)
	if names := sc.fleet.names(); len(names) > 1 && (len(names) >= 5 || sc.rng.IntN(2) == 0) {
		sc.fleet.stop(sc.pick())
		return
	}
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		if sc.fleet.member(name) == nil {
			sc.fleet.start(name)
			return
		}
	}
}

// strikeBrokerKill kills the broker and starts it again on its data.
func (sc *scene) strikeBrokerKill() {
	sc.t.Helper()
	sc.progress(50)
	must.Do(sc.t, sc.kafka.Kill())
	sc.pause(sc.within(2 * time.Second))
	sc.startBroker()
}

// strikeBrokerStop stops the broker in order for a while.
func (sc *scene) strikeBrokerStop(down time.Duration) {
	sc.t.Helper()
	sc.progress(50)
	must.Do(sc.t, sc.kafka.Stop(sc.ctx))
	sc.pause(down)
	sc.startBroker()
}

func (sc *scene) startBroker() {
	sc.t.Helper()
	must.Do(sc.t, sc.kafka.Start(sc.ctx))
}

// strikeNetwork lets the workers' way to the broker misbehave for a moment.
func (sc *scene) strikeNetwork() {
	sc.t.Helper()
	sc.progress(20)
	sc.pause(sc.within(300 * time.Millisecond))
	for range 1 + sc.rng.IntN(3) {
		switch sc.rng.IntN(5) {
		case 0:
			sc.proxy.Cut()
		case 1:
			sc.proxy.HalfClose(true)
		case 2:
			sc.proxy.HalfClose(false)
		case 3:
			sc.proxy.Delay(sc.within(200 * time.Millisecond))
		case 4:
			sc.proxy.Stall()
		}
		sc.pause(sc.within(1500 * time.Millisecond))
	}
	if sc.rng.IntN(3) == 0 {
		sc.proxy.Refuse(true)
		sc.proxy.Cut()
		sc.pause(sc.within(2 * time.Second))
	}
	sc.proxy.Resume()
}

// strikesOf returns how often a fault strikes: once in the gate, n times in the tier nightly.
func strikesOf(t *testing.T, n int) int {
	t.Helper()
	if testrun.IsNightly(t) {
		return n
	}
	return 1
}

// S3-1, S4-14: a worker that is silent for longer than its session, and comes back
// in the belief that it owns what others own by now, is fenced: nothing of what it
// still held takes effect.
func TestChaosFreeze_S3_1_S4_14(t *testing.T) {
	testrun.Proof(t)
	t.Parallel()
	sc := newScene(t, sceneBound, setup{order: retrytopics.OrderLatestWins, partitions: 6, workers: three(), rate: 400})
	fenced := func() int { return sc.fleet.said("transaction aborted") + sc.fleet.said("session ended") }
	const most = 8 // a worker that froze with nothing in flight is refused nothing: another one is frozen
	for n := 0; n < strikesOf(t, 3) || fenced() == 0 && n < most; n++ {
		sc.strikeFreeze()
	}
	sc.end()
	expect.That(t, fenced() != 0, "seed %d: no zombie was refused anything: nothing was proved", sc.seed)
}

// S3-1: a transaction that was open for longer than the broker allows is aborted
// by it, and its work is done again.
func TestChaosExpiry_S3_1(t *testing.T) {
	testrun.Proof(t)
	t.Parallel()
	sc := newScene(t, sceneBound, setup{order: retrytopics.OrderStrict, partitions: 6, workers: []string{"a", "b"}, rate: 400})
	n := strikesOf(t, 2)
	for range n {
		sc.strikeExpire()
	}
	sc.end()
	expect.That(t, sc.expired >= n, "seed %d: %d transactions expired, want %d", sc.seed, sc.expired, n)
}

// S3-1, S4-14: the broker is killed and comes back with what it had written.
func TestChaosBrokerKill_S3_1_S4_14(t *testing.T) {
	testrun.Proof(t)
	sc := newScene(t, sceneBound, setup{order: retrytopics.OrderLatestWins, partitions: 6, workers: three(), rate: 400})
	for range strikesOf(t, 2) {
		sc.strikeBrokerKill()
	}
	sc.end()
}
