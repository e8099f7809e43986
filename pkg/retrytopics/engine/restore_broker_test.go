package engine_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/engine"
)

// slowRestore delays the first fetch of the state topic, which an instance sends while it restores its partitions.
type slowRestore struct {
	broker  *broker
	cluster *kfake.Cluster
	begun   atomic.Bool
	beats   atomic.Int64 // heartbeats of instance two since then
	joins   atomic.Int64 // joins of instance two since then
	release chan struct{}
}

func (s *slowRestore) hold() {
	state := source + ".state"
	s.broker.cacheIDs(state)
	s.cluster.ControlKey(int16(kmsg.Fetch), func(r kmsg.Request) (kmsg.Response, error, bool) {
		reads := slices.ContainsFunc(r.(*kmsg.FetchRequest).Topics, func(t kmsg.FetchRequestTopic) bool {
			return t.Topic == state || t.TopicID == s.broker.topicID(state)
		})
		s.cluster.KeepControl()
		if reads && s.begun.CompareAndSwap(false, true) {
			s.cluster.SleepControl(func() { <-s.release })
		}
		return nil, nil, false
	})
	count := func(key kmsg.Key, instance func(kmsg.Request) *string, n *atomic.Int64) {
		s.cluster.ControlKey(int16(key), func(r kmsg.Request) (kmsg.Response, error, bool) {
			s.cluster.KeepControl()
			if id := instance(r); s.begun.Load() && id != nil && *id == "two" {
				n.Add(1)
			}
			return nil, nil, false
		})
	}
	count(kmsg.Heartbeat, func(r kmsg.Request) *string { return r.(*kmsg.HeartbeatRequest).InstanceID }, &s.beats)
	count(kmsg.JoinGroup, func(r kmsg.Request) *string { return r.(*kmsg.JoinGroupRequest).InstanceID }, &s.joins)
}

// S3-1: an instance whose restore takes longer than its session timeout stays a member: it reads outside of the group's
// callbacks, and heartbeats continue. An instance for which the group waits too long in a rebalance is expelled: the
// others take over, it comes back, and nothing is lost or processed twice.
func TestRestore_S3_1_longerThanTheGroupWaits(t *testing.T) {
	testrun.Nightly(t) // it waits for several sessions, which must not be too short for a slow machine
	t.Parallel()
	for name, expelled := range map[string]bool{"than its session": false, "than a rebalance": true} {
		t.Run(name, func(t *testing.T) {
			const session = 5 * time.Second
			b, cluster := newBrokerOf(t, kfake.BrokerConfigs(map[string]string{"group.min.session.timeout.ms": "100"}))
			ctx := testrun.Context(t, 2*time.Minute)
			f := &failing{n: 1, err: unavailable}
			start := func(instance string) (*engine.Engine, func() error) {
				cfg := b.config(f.handle)
				cfg.Ordering.Mode, cfg.Membership.Session, cfg.Membership.Instance = retrytopics.OrderStrict, session, instance
				e := b.engine(cfg)
				e.Hurry(50 * time.Millisecond)
				e.RejoinWithin(session)
				run, stop := context.WithCancel(ctx)
				ended := make(chan error, 1)
				go func() { ended <- e.Run(run) }()
				return e, func() error { stop(); return <-ended }
			}
			sent := 0
			deliver := func(n int) {
				t.Helper()
				var records []*kgo.Record
				for range n {
					sent++
					records = append(records, &kgo.Record{Key: fmt.Appendf(nil, "k%d", sent), Value: fmt.Appendf(nil, "v%d", sent)})
				}
				b.produce(records...)
				b.until(ctx, func() bool { return len(b.read(output)) >= sent })
			}
			_, stopOne := start("one")
			deliver(30) // gives the state topic something to restore in each partition
			slow := &slowRestore{broker: b, cluster: cluster, release: make(chan struct{})}
			slow.hold()
			two, stopTwo := start("two")
			b.until(ctx, slow.begun.Load)
			joins := slow.joins.Load()
			stopThree := func() error { return nil }
			if expelled {
				_, stopThree = start("three")
				deliver(30) // by the others, also in the partitions of the expelled instance
			} else {
				b.until(ctx, func() bool { return slow.beats.Load() >= 12 }) // three per session timeout
			}
			close(slow.release)
			b.until(ctx, func() bool { ready, _ := two.Ready(); return ready && two.Stats().Partitions > 0 })
			deliver(30)
			again := slow.joins.Load() > joins
			expect.That(t, again == expelled, "%d joins, and %d before the restore", slow.joins.Load(), joins)
			for _, stop := range []func() error{stopOne, stopTwo, stopThree} {
				expect.Do(t, stop())
			}
			seen := map[string]int{}
			for _, r := range b.read(output) {
				seen[string(r.Value)]++
			}
			expect.That(t, len(seen) == sent && len(b.read(output)) == sent && len(b.read(source+".dlq")) == 0, "%d of %d events have an output, %d outputs", len(seen), sent, len(b.read(output)))
		})
	}
}
