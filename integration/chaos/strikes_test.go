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

// strike is one kind of fault. The function waits for the state that the fault needs, and returns when the fault is
// over.
type strike struct {
	name string
	do   func(*scene)
}

// strikes returns every kind of fault, for the mixed test. In its short form, the broker is only stopped briefly.
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
		{"broker stopped", func(sc *scene) { sc.strikeBrokerStop(sc.randomUpTo(away)) }},
		{"network", (*scene).strikeNetwork},
	}
}

// strikeKill kills one worker, or all of them one time in four, and restarts them a moment later.
func (sc *scene) strikeKill() {
	sc.t.Helper()
	sc.progress(50)
	sc.pause(sc.randomUpTo(500 * time.Millisecond))
	names := sc.fleet.names()
	if sc.rng.IntN(4) > 0 {
		names = []string{sc.pickInstance()}
	}
	sc.fleet.kill(names...)
	sc.pause(sc.randomUpTo(300 * time.Millisecond))
	for _, name := range names {
		sc.fleet.start(name)
	}
}

// strikeFreeze freezes a worker until the group has reassigned its partitions and the other workers have used them.
// Then it thaws the worker, which still considers itself the owner of the partitions.
func (sc *scene) strikeFreeze() {
	sc.t.Helper()
	sc.progress(50)
	name := sc.pickInstance()
	if !sc.fleet.freeze(name) {
		return // it has just exited on its own, which the fleet reports
	}
	sc.pause(sessionTimeout + sc.randomUpTo(sessionTimeout))
	if len(sc.fleet.names()) > 0 {
		sc.progress(50)
	}
	sc.fleet.thaw(name)
}

// strikeExpire freezes a worker within a transaction until the transaction has expired, and thaws it.
func (sc *scene) strikeExpire() {
	sc.t.Helper()
	sc.progress(50)
	for began := time.Now(); time.Since(began) < stallBound(); { // a busy worker has an open transaction most of the time
		name := sc.pickInstance()
		if !sc.fleet.freeze(name) {
			return
		}
		if sc.transaction(name) == "Ongoing" {
			sc.pause(200 * time.Millisecond) // its last request may be a commit in progress
			if sc.transaction(name) == "Ongoing" {
				sc.expire(name)
				return
			}
		}
		sc.fleet.thaw(name)
		sc.pause(sc.randomUpTo(50 * time.Millisecond))
	}
	sc.t.Errorf("seed %d: no worker was in a transaction when it was stopped", sc.seed)
}

// expire waits until the broker has aborted the transaction of a frozen worker.
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

// transaction returns the broker's state of a worker's transaction.
func (sc *scene) transaction(name string) string {
	id := sc.base.Group + "-" + name
	described, err := sc.log.Admin().DescribeTransactions(sc.ctx, id)
	if err != nil {
		return err.Error()
	}
	return described[id].State
}

// strikeChurn stops an instance with SIGTERM, or adds one.
func (sc *scene) strikeChurn() {
	sc.t.Helper()
	sc.progress(20)
	if names := sc.fleet.names(); len(names) > 1 && (len(names) >= 5 || sc.rng.IntN(2) == 0) {
		sc.fleet.stop(sc.pickInstance())
		return
	}
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		if sc.fleet.member(name) == nil {
			sc.fleet.start(name)
			return
		}
	}
}

// strikeBrokerKill kills the broker and restarts it with its data.
func (sc *scene) strikeBrokerKill() {
	sc.t.Helper()
	sc.progress(50)
	must.Do(sc.t, sc.kafka.Kill())
	sc.pause(sc.randomUpTo(2 * time.Second))
	sc.startBroker()
}

// strikeBrokerStop shuts the broker down for a while.
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

// strikeNetwork disturbs the workers' connections to the broker for a moment.
func (sc *scene) strikeNetwork() {
	sc.t.Helper()
	sc.progress(20)
	sc.pause(sc.randomUpTo(300 * time.Millisecond))
	for range 1 + sc.rng.IntN(3) {
		switch sc.rng.IntN(5) {
		case 0:
			sc.proxy.Cut()
		case 1:
			sc.proxy.HalfClose(true)
		case 2:
			sc.proxy.HalfClose(false)
		case 3:
			sc.proxy.Delay(sc.randomUpTo(200 * time.Millisecond))
		case 4:
			sc.proxy.Stall()
		}
		sc.pause(sc.randomUpTo(1500 * time.Millisecond))
	}
	if sc.rng.IntN(3) == 0 {
		sc.proxy.Refuse(true)
		sc.proxy.Cut()
		sc.pause(sc.randomUpTo(2 * time.Second))
	}
	sc.proxy.Resume()
}

// strikesOf returns how often a fault happens: once in the gate, n times in the tier nightly.
func strikesOf(t *testing.T, n int) int {
	t.Helper()
	if testrun.IsNightly(t) {
		return n
	}
	return 1
}

// S3-1, S4-14: a worker is silent for longer than its session and continues as if it still owned its partitions. It
// is fenced: none of its unfinished records takes effect.
func TestChaosFreeze_S3_1_S4_14(t *testing.T) {
	testrun.Proof(t)
	t.Parallel()
	sc := newScene(t, sceneBound, setup{order: retrytopics.OrderLatestWins, partitions: 6, workers: threeInstances(), rate: 400})
	fenced := func() int {
		return sc.fleet.countLogLines("transaction aborted") + sc.fleet.countLogLines("session ended")
	}
	const limit = 8 // a worker without records in flight is not fenced, so another one is frozen
	for n := 0; n < strikesOf(t, 3) || fenced() == 0 && n < limit; n++ {
		sc.strikeFreeze()
	}
	sc.end()
	expect.That(t, fenced() != 0, "seed %d: no zombie was fenced, so nothing was proved", sc.seed)
}

// S3-1: the broker aborts a transaction that is open for longer than allowed, and the work is done again.
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

// S3-1, S4-14: the broker is killed and restarts with the data that it had written.
func TestChaosBrokerKill_S3_1_S4_14(t *testing.T) {
	testrun.Proof(t)
	sc := newScene(t, sceneBound, setup{order: retrytopics.OrderLatestWins, partitions: 6, workers: threeInstances(), rate: 400})
	for range strikesOf(t, 2) {
		sc.strikeBrokerKill()
	}
	sc.end()
}
