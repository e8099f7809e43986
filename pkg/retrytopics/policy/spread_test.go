package policy_test

import (
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// S2-1: a spread of -1 is none: the wait is exactly the step.
func TestPolicy_S2_1_noSpreadIsNone(t *testing.T) {
	for _, attempt := range []int{1, 2} {
		p := policy.Policies{Default: policy.Policy{Strategy: policy.StrategyProportionalJitter, BaseDelay: 2 * time.Second, MaxDelay: time.Minute, MaxAttempts: 5, Spread: -1}}.For("")
		least, most := p.Bounds(attempt, []policy.Tier{{Topic: "r", Delay: time.Second}})
		expect.That(t, least == most, "attempt %d: waits %s..%s", attempt, least, most)
	}
}
