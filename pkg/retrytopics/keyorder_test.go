package retrytopics

import (
	"testing"
	"time"
)

// A later record waits behind the failed one of its key, and runs once that one is finished.
func TestKeyOrder_isTheEnginesStrictOrder(t *testing.T) {
	t.Parallel()
	tiers := []Tier{{Topic: "r", Delay: time.Second}}
	now := time.Unix(100, 0)
	strict := Ordering{Mode: OrderStrict}
	var k KeyOrder
	if _, _, run := k.Admit(strict, 0, false, tiers, now); !run {
		t.Fatal("the first record of a key must run")
	}
	first := k.Ended(strict, 0, false, Decision{Outcome: OutcomeRetried, Due: now.Add(time.Second)})
	d, second, run := k.Admit(strict, 0, false, tiers, now)
	if run || d.Outcome != OutcomeParked || d.Reason != ReasonBehind || !d.Due.Equal(now.Add(time.Second)) || first != 1 || second != 2 {
		t.Fatalf("the second record: %+v, numbers %d and %d", d, first, second)
	}
	k.Ended(strict, second, false, d)
	now = now.Add(time.Second)
	if _, _, run := k.Admit(strict, second, true, tiers, now); run {
		t.Error("the second record runs before the first one")
	}
	if _, _, run := k.Admit(strict, first, true, tiers, now); !run {
		t.Fatal("the first record must run when it is due")
	}
	k.Ended(strict, first, true, Decision{Outcome: OutcomeDelivered})
	if _, _, run := k.Admit(strict, second, true, tiers, now); !run || k.Idle() {
		t.Errorf("the second record must run now: %v, idle %v", run, k.Idle())
	}
	k.Ended(strict, second, true, Decision{Outcome: OutcomeDelivered})
	if !k.Idle() {
		t.Errorf("left: %+v", k)
	}
}

func TestKeyOrder_holdKeyHoldsForGood(t *testing.T) {
	t.Parallel()
	tiers := []Tier{{Topic: "r", Delay: time.Second}}
	o := Ordering{Mode: OrderStrict, OnDeadLetter: OnDeadLetterHoldKey}
	var k KeyOrder
	k.Ended(o, 0, false, Decision{Outcome: OutcomeDeadLettered})
	if d, _, run := k.Admit(o, 0, false, tiers, time.Unix(1, 0)); run || d.Reason != ReasonKeyHeld {
		t.Errorf("run %v, %+v", run, d)
	}
}
