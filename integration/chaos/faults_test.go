//go:build unix

package chaos

import (
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

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

// S3-1: instances that join and leave every few seconds cost time, not records.
func TestChaosChurn_S3_1(t *testing.T) {
	testrun.Nightly(t)
	t.Parallel()
	sc := newScene(t, sceneBound, setup{order: retrytopics.OrderStrict, partitions: 6, workers: three(), rate: 400})
	for range 8 {
		sc.strikeChurn()
		sc.pause(sc.within(2 * time.Second))
	}
	sc.end()
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

// S3-1: the broker is away for 20 seconds.
func TestChaosBrokerStop_S3_1(t *testing.T) {
	testrun.Nightly(t)
	sc := newScene(t, sceneBound, setup{order: retrytopics.OrderStrict, partitions: 6, workers: three(), rate: 200})
	sc.strikeBrokerStop(20 * time.Second)
	sc.end()
}

// S3-1: connections are cut, slowed, half closed, hung and refused.
func TestChaosNetwork_S3_1(t *testing.T) {
	testrun.Nightly(t)
	t.Parallel()
	sc := newScene(t, sceneBound, setup{order: retrytopics.OrderLatestWins, partitions: 6, workers: three(), rate: 400, proxied: true})
	for range 6 {
		sc.strikeNetwork()
	}
	sc.end()
	if carried := sc.proxy.Carried(); carried < 1<<20 {
		t.Errorf("only %d bytes went through the proxy", carried)
	}
}
