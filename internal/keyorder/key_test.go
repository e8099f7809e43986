package keyorder

import (
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// A later record waits behind the failed one of its key, and runs once that one is finished.
func TestKey_waitsBehindTheFailedOne(t *testing.T) {
	t.Parallel()
	tiers := []policy.Tier{{Topic: "r", Delay: time.Second}}
	now := time.Unix(100, 0)
	strict := Rules{Mode: Strict}
	var k Key
	_, _, run := k.Admit(strict, 0, false, tiers, now)
	must.That(t, run, "the first record of a key must run")
	first := k.Ended(strict, 0, false, policy.Decision{Outcome: policy.OutcomeRetried, Due: now.Add(time.Second)})
	d, second, run := k.Admit(strict, 0, false, tiers, now)
	must.That(t, !run && d.Outcome == policy.OutcomeParked && d.Reason == policy.ReasonBehind && d.Due.Equal(now.Add(time.Second)) && first == 1 && second == 2,
		"the second record: %+v, numbers %d and %d", d, first, second)
	k.Ended(strict, second, false, d)
	now = now.Add(time.Second)
	_, _, run = k.Admit(strict, second, true, tiers, now)
	expect.That(t, !run, "the second record runs before the first one")
	_, _, run = k.Admit(strict, first, true, tiers, now)
	must.That(t, run, "the first record must run when it is due")
	k.Ended(strict, first, true, policy.Decision{Outcome: policy.OutcomeDelivered})
	if _, _, run := k.Admit(strict, second, true, tiers, now); !run || k.Idle() {
		t.Errorf("the second record must run now: %v, idle %v", run, k.Idle())
	}
	k.Ended(strict, second, true, policy.Decision{Outcome: policy.OutcomeDelivered})
	expect.That(t, k.Idle(), "left: %+v", k)
}

func TestKey_holdKeyHoldsForGood(t *testing.T) {
	t.Parallel()
	tiers := []policy.Tier{{Topic: "r", Delay: time.Second}}
	o := Rules{Mode: Strict, HoldKey: true}
	var k Key
	k.Ended(o, 0, false, policy.Decision{Outcome: policy.OutcomeDeadLettered})
	d, _, run := k.Admit(o, 0, false, tiers, time.Unix(1, 0))
	expect.That(t, !run && d.Reason == policy.ReasonKeyHeld, "run %v, %+v", run, d)
}
