package retrytopics

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/fakekafka"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/schedule"
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

// Instances that start together create the topics once.
func TestCreateTopics_instancesStartTogether(t *testing.T) {
	cluster := fakekafka.Start(t, kfake.SeedTopics(1, "orders"))
	ctx := testrun.Context(t, 25*time.Second)
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			e, err := New(Config{Brokers: cluster.ListenAddrs(), Source: "orders", Group: "g", Handler: nothing})
			if err != nil {
				t.Error(err)
				return
			}
			expect.Do(t, e.CreateTopics(ctx))
		})
	}
	wg.Wait()
}

// A topic has one use.
func TestConfig_aTopicHasOneUse(t *testing.T) {
	for name, c := range map[string]Config{
		"state = DLQ":    {DLQ: "in.dlq", Ordering: Ordering{StateTopic: "in.dlq"}},
		"state = source": {Ordering: Ordering{StateTopic: "in"}},
		"ledger = state": {Dedupe: Dedupe{Window: time.Hour, LedgerTopic: "in.x"}, Ordering: Ordering{StateTopic: "in.x"}},
	} {
		c.Brokers, c.Source, c.Group, c.Handler = []string{"localhost:9"}, "in", "g", nothing
		_, err := New(c)
		expect.That(t, err != nil, "%s: accepted", name)
	}
}

// S1-7: a record of a tier without a valid due time is not overdue.
func TestStats_S1_7_aMalformedRecordIsNotOverdue(t *testing.T) {
	s := unconnected(t, Config{Handler: nothing, Retries: Retries{Tiers: []policy.Tier{{Topic: "in.retry-2s", Delay: 2 * time.Second}}}})
	s.sched.Pause(true)
	s.takes(&kgo.Record{Topic: "in.retry-2s", Offset: 0, Key: []byte("k"), Headers: []kgo.RecordHeader{{Key: header.KeyAttempt, Value: []byte("x")}}})
	o := s.known(time.Now()).Tiers[0].Overdue
	expect.That(t, o <= time.Hour, "overdue: %v", o)
}

// S0-6: the group takes the partition of a tier away, and that of the source stays: no key overtakes itself, and the session ends.
func TestSession_S0_6_losingATierAloneKeepsTheOrder(t *testing.T) {
	s := unconnected(t, Config{Handler: nothing, Retries: Retries{Tiers: []policy.Tier{{Topic: "in.retry-2s", Delay: 2 * time.Second}}}})
	s.takes(&kgo.Record{Topic: "in", Offset: 0, Key: []byte("k")})
	first := s.sched.Next() // under way
	client := disconnected(t)
	s.mu.Lock()
	s.forget(client, func(tp topicPartition) bool { return tp.topic == "in.retry-2s" })
	_, remembered := s.states[0]
	s.mu.Unlock()
	expect.That(t, remembered, "the memory of partition 0 is gone, though its source partition is still ours")
	s.takes(&kgo.Record{Topic: "in", Offset: 1, Key: []byte("k")})
	got := make(chan *schedule.Task, 1)
	go func() { got <- s.sched.Next() }()
	select {
	case second := <-got:
		t.Errorf("offset %d runs while offset %d of the same key runs", second.Offset, first.Offset)
	case <-time.After(100 * time.Millisecond):
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	expect.That(t, errors.Is(s.fatal, errTierLost), "the session goes on: %v", s.fatal)
}

// An engine runs once at a time: two runs would be one member of the group.
func TestEngine_runsOnceAtATime(t *testing.T) {
	t.Parallel()
	cluster := fakekafka.Start(t, kfake.SeedTopics(1, "orders"))
	e := must.Get(New(Config{Brokers: cluster.ListenAddrs(), Source: "orders", Group: "g", Handler: nothing}))(t)
	must.Do(t, e.CreateTopics(t.Context()))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	for range 2 {
		go func() { ended <- e.Run(ctx) }()
	}
	err := <-ended
	expect.That(t, errors.Is(err, errRunning), "the second run ends with %v", err)
	stop()
	expect.Do(t, <-ended, "the first run ends with")
}

// S4-14: adopting a group's topics ends the transactions that write to them, and not those of a group whose name begins alike.
func TestAdopt_S4_14_endsNoTransactionOfAnotherGroup(t *testing.T) {
	e := must.Get(New(Config{Brokers: []string{"none"}, Source: "orders", Group: "orders", Handler: nothing, Outputs: []string{"orders.out"}}))(t)
	for topic, own := range map[string]bool{"orders.out": true, e.in.cfg.DLQ: true, e.in.cfg.Ordering.StateTopic: true, "orders-eu.state": false, "orders": false} {
		expect.That(t, slices.Contains(e.in.cluster.Written(), topic) == own, "a transaction that writes to %s is the group's own: %v, want %v", topic, !own, own)
	}
}

// A chain of decorrelated delays stays within base and cap, and each follows from the one before as the headers tell it.
func TestDecide_S4_4_decorrelated_jitter_follows_the_headers(t *testing.T) {
	t.Parallel()
	tiers := []policy.Tier{{Topic: "f.retry-2s", Delay: 2 * time.Second}, {Topic: "f.retry-8s", Delay: 8 * time.Second}, {Topic: "f.retry-60s", Delay: time.Minute}}
	policies := policy.Policies{Default: policy.Policy{Strategy: policy.StrategyDecorrelatedJitter, BaseDelay: time.Second, MaxDelay: 30 * time.Second, MaxAttempts: 200}}
	source, now := rand.New(rand.NewPCG(4, 7)), time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	r := &Record{Attempt: 1, Control: &header.Control{}}
	for ; r.Attempt < 200; r.Attempt++ {
		last := max(tried(r).LastDelay, time.Second)
		d := policy.Decide(policies, tiers, tried(r), classify.Failure{Class: classify.RetryBackoff, Level: classify.LevelTransient, Err: errors.New("x")}, now, source.Float64)
		wait := d.Due.Sub(now)
		must.That(t, wait >= time.Second && wait <= min(30*time.Second, 3*last)+time.Millisecond, "attempt %d: %v after %v", r.Attempt, wait, last)
		r.Control = &header.Control{Attempt: r.Attempt, FailedAt: now, Due: d.Due}
		now = d.Due
	}
}
