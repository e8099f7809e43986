package engine

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/fakekafka"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// Several instances that start at the same time create the topics once.
func TestCreateTopics_instancesStartTogether(t *testing.T) {
	cluster := fakekafka.Start(t, kfake.SeedTopics(1, "orders"))
	ctx := testrun.Context(t, 25*time.Second)
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			e, err := New(retrytopics.Config{Brokers: cluster.ListenAddrs(), Source: "orders", Group: "g", Handler: nothing})
			if err != nil {
				t.Error(err)
				return
			}
			expect.Do(t, e.CreateTopics(ctx))
		})
	}
	wg.Wait()
}

// An engine cannot run twice at a time: both runs would be one member of the group.
func TestEngine_runsOnceAtATime(t *testing.T) {
	t.Parallel()
	cluster := fakekafka.Start(t, kfake.SeedTopics(1, "orders"))
	e := must.Get(New(retrytopics.Config{Brokers: cluster.ListenAddrs(), Source: "orders", Group: "g", Handler: nothing}))(t)
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

// S4-14: adoption ends open transactions that write to the group's topics, but none of a group whose name has the same
// prefix.
func TestAdopt_S4_14_endsNoTransactionOfAnotherGroup(t *testing.T) {
	e := must.Get(New(retrytopics.Config{Brokers: []string{"none"}, Source: "orders", Group: "orders", Handler: nothing, Outputs: []string{"orders.out"}}))(t)
	for topic, own := range map[string]bool{"orders.out": true, e.in.Cfg.DLQ: true, e.in.Cfg.Ordering.StateTopic: true, "orders-eu.state": false, "orders": false} {
		expect.That(t, slices.Contains(e.in.Cluster.Written(), topic) == own, "a transaction that writes to %s is the group's own: %v, want %v", topic, !own, own)
	}
}

func nothing(context.Context, *retrytopics.Record) (retrytopics.Result, error) {
	return retrytopics.Result{}, nil
}
