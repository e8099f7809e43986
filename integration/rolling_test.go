package integration

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/broker"
	"github.com/switchback-geo/switchback/internal/testkit/conservation"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

// S3-1: brokers that are restarted one after the other, as in an upgrade, interrupt a consumer for as long as
// leaders and coordinators move, not for a session. Each node leads some partitions and coordinates some group or transaction.
func TestRollingRestart_S3_1_interruptsForNoSession(t *testing.T) {
	testrun.Nightly(t)
	t.Parallel()
	needRealKafka(t)
	ctx, cancel := context.WithTimeout(t.Context(), testrun.Patient(5*time.Minute))
	defer cancel()
	nodes := must.Get(broker.OwnCluster(ctx, 3))(t)
	t.Cleanup(func() {
		if err := nodes.Close(); err != nil {
			t.Error(err)
		}
	})
	p := newPipeOn(t, nodes.Addrs(), 5*time.Minute, heldSession, func(s *settings) { s.Replicas = 3 }).ensure()
	output := p.log.Tail(t, p.topics.Output)
	first, second := p.start("one"), p.start("two")
	sent := 0
	deliver := func(since string) {
		t.Helper()
		for range 12 { // over all partitions
			sent++
			p.send(fmt.Sprintf("k%d", sent))
		}
		output.UntilCount(p.ctx, t, "the results after "+since, sent)
	}
	deliver("the start")
	for i, node := range nodes.Nodes {
		must.Do(t, node.Stop(p.ctx))
		deliver(fmt.Sprintf("the stop of node %d", i+1))
		must.Do(t, node.Start(p.ctx))
		deliver(fmt.Sprintf("the return of node %d", i+1))
		must.Do(t, nodes.Whole(p.ctx))
	}
	p.stop(first)
	p.stop(second)
	wantTotals(t, p.verify(), sent, conservation.Place{Output: sent})
}
