package retrytopics

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/kafka"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/offsets"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// Of several revocations between two transactions the client tells the first alone. A partition that was paused then is
// fetched again when it comes back: a pause outlives the assignment.
func TestSession_aPausedPartitionThatWentUntoldIsNotPausedWhenItComesBack(t *testing.T) {
	t.Parallel()
	client := disconnected(t)
	s := unconnected(t, Config{Handler: nothing})
	s.committer = kafka.Plain(client)
	tp := topicPartition{"in", 0}
	s.partitions[tp].held = 1 << 20
	s.balance(true)
	paused := client.PauseFetchPartitions(nil)
	must.That(t, len(paused["in"]) == 1, "paused %v", paused)
	s.reconcile() // nothing is assigned any more
	paused = client.PauseFetchPartitions(nil)
	expect.That(t, len(s.partitions) == 0 && len(paused) == 0, "paused %v, %d lanes are left", paused, len(s.partitions))
}

// What one poll gives is bounded by what is left, also while the source is paused or nothing is assigned yet.
func TestSession_aPollTakesWhatTheLanesMayStillHold(t *testing.T) {
	t.Parallel()
	s := unconnected(t, Config{Handler: nothing, Limits: Limits{HeldRecords: 2000}, Retries: Retries{Tiers: []policy.Tier{{Topic: "in.retry", Delay: time.Second}}}})
	source := s.partitions[topicPartition{"in", 0}]
	tier := s.partitions[topicPartition{"in.retry", 0}]
	for _, c := range []struct {
		name               string
		source, tier, want int
		paused             bool
	}{
		{"nothing held", 0, 0, 1000, false},
		{"some", 600, 0, 400, false},
		{"hardly room", 900, 0, 0, false},
		{"only the tier sends", 1000, 700, 300, true},
		{"only the tier sends, and is full", 1000, 1200, minPoll, true},
	} {
		source.held, source.paused, tier.held = c.source, c.paused, c.tier
		expect.Equal(t, s.room(), c.want, c.name)
	}
	clear(s.partitions)
	expect.Equal(t, s.room(), minPoll, "nothing is assigned")
}

// S4-15: the results of an aborted transaction may go with their partitions. Nothing is left then that a commit could bring
// through, so one attempt at a time shows whether the trouble is over: an engine that begins none would be blocked forever.
func TestSession_S4_15_oneAttemptShowsWhetherTheTroubleIsOver(t *testing.T) {
	t.Parallel()
	s := unconnected(t, Config{Handler: nothing})
	for range blockedFrom {
		s.e.health.failed(s.e.cfg.Logger, errors.New("not allowed"))
	}
	may := func() bool {
		s.sched.mu.Lock()
		defer s.sched.mu.Unlock()
		return s.sched.startable()
	}
	s.takes(&kgo.Record{Topic: "in", Offset: 0, Key: []byte("a")}, &kgo.Record{Topic: "in", Offset: 1, Key: []byte("b")})
	s.aborted = []*task{{}}
	if s.block(); may() {
		t.Error("an attempt begins, and a result waits for its commit")
	}
	s.aborted = nil
	if s.block(); !may() {
		t.Fatal("no attempt begins, and there is nothing that could be committed")
	}
	probe := s.sched.next()
	expect.That(t, !may(), "a second attempt begins beside the first")
	s.sched.finish(probe)
	expect.That(t, !may(), "a second attempt begins before the result of the first is committed")
	s.e.health.passed(s.e.cfg.Logger)
	if s.block(); !may() {
		t.Error("the trouble is over, and no attempt begins")
	}
}

// S4-12: an instance that the group has given up, as when the brokers are gone, still knows what waited; one that hands its
// partitions over knows that nothing does.
func TestSession_S4_12_whatWaitedIsKnownAfterALossAndNotAfterAHandOver(t *testing.T) {
	t.Parallel()
	client := disconnected(t)
	all := map[string][]int32{"in": {0}}
	for name, c := range map[string]struct {
		end func(s *session)
		lag int64
	}{
		"lost":        {func(s *session) { s.onLost(t.Context(), client, all) }, 7},
		"lost_before": {func(s *session) { s.told = false; s.onLost(t.Context(), client, all) }, 0},
		"handed_over": {func(s *session) { s.onGone(t.Context(), client, all) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := unconnected(t, Config{Handler: nothing})
			s.committer = kafka.Plain(client)
			s.onAssignment(all)
			s.partitions[topicPartition{"in", 0}].held = 7
			c.end(s)
			s.remember() // the session's end
			expect.Equal(t, s.e.Stats().Lag, c.lag, "lag")
		})
	}
}

// S4-12: what an aborted transaction carried is taken again. Until it is, the instance knows what waits all the same, and
// afterwards it counts nothing twice.
func TestSession_S4_12_whatWaitsIsKnownAfterAnAbort(t *testing.T) {
	t.Parallel()
	client := disconnected(t)
	s := unconnected(t, Config{Handler: nothing, Retries: Retries{Tiers: []policy.Tier{{Topic: "in.retry-2s", Delay: 2 * time.Second}}}})
	s.committer = kafka.Plain(client)
	tier := topicPartition{"in.retry-2s", 0}
	now := time.Now()
	take := func(offsets ...int64) {
		for _, at := range offsets {
			s.accepted(s.partitions[tier], &kgo.Record{Topic: tier.topic, Offset: at, Timestamp: now.Add(-time.Minute)}, now)
		}
	}
	waits := func(when string, want int64) {
		t.Helper()
		expect.Equal(t, s.known(now).Tiers[0].Waiting, want, when, "records wait")
	}
	take(0, 1, 2) // of a former owner
	for _, at := range []int64{3, 4, 6} {
		s.partitions[tier].wrote(at)
	}
	take(3, 4)
	waits("before", 6)
	s.partitions[tier].let(4, 0) // finished and committed ahead of the others
	s.partitions[tier].committed = offsets.Commit{Offset: 0, Metadata: offsets.EncodeFinished(0, []offsets.Span{{First: 4, Last: 4}})}
	waits("one finished", 5)
	must.Do(t, s.renew())
	waits("after the abort", 5)
	take(0, 1, 2, 3, 4)
	waits("taken again", 5)
	take(6)
	waits("all taken", 5)
}

// S3-1: who consumes the source, is this instance, or is not described in the middle of a rebalance, is no stranger in the group.
func TestStrangers_S3_1_areThoseWhoConsumeSomethingElse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		group []groupMember
		want  []string
	}{
		"nobody":                           {nil, nil},
		"another instance":                 {[]groupMember{{"two", "/b", []string{"features", "features.retry-2s"}}}, nil},
		"other tiers":                      {[]groupMember{{"two", "/b", []string{"features", "features.retry-9s"}}}, nil},
		"in a rebalance":                   {[]groupMember{{"two", "/b", nil}}, nil},
		"itself, before it was renamed":    {[]groupMember{{"one", "/a", []string{"parcels"}}}, nil},
		"another pipeline":                 {[]groupMember{{"two", "/b", []string{"features"}}, {"x", "/c", []string{"parcels", "parcels.retry-2s"}}}, []string{"x on /c consumes parcels, parcels.retry-2s"}},
		"another pipeline, with our tiers": {[]groupMember{{"x", "/c", []string{"features.retry-2s"}}}, []string{"x on /c consumes features.retry-2s"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := foreignMembers(c.group, "features", "one")
			expect.That(t, slices.Equal(got, c.want), "%q, want %q", got, c.want)
		})
	}
}
