package retrytopics_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/fakekafka"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// Without transactions the ledger must not outlive an output that it speaks of: after a crash the event would be closed as its
// own duplicate, and lost.
func TestEngine_atLeastOnceTheLedgerKnowsOnlyOfOutputsThatAreThere(t *testing.T) {
	t.Parallel()
	cluster := fakekafka.Start(t, kfake.NumBrokers(2), kfake.SeedTopics(1, source, output))
	client := fakekafka.Client(t, cluster)
	b := &broker{t: t, addrs: cluster.ListenAddrs(), client: client}
	b.produce(&kgo.Record{Key: []byte("k"), Value: []byte("k/1")})
	cfg := b.ordered(hashed, retrytopics.OrderLatestWins)
	cfg.Delivery, cfg.Dedupe.Window, cfg.Timing.Transaction = retrytopics.AtLeastOnce, time.Hour, time.Second
	engine := b.engine(cfg)
	const lost, kept = 0, 1
	for topic, node := range map[string]int32{output: lost, source + ".ledger": kept} {
		must.Do(t, cluster.MoveTopicPartition(topic, 0, node))
	}
	ctx, stop := context.WithTimeout(t.Context(), testrun.Patient(20*time.Second))
	defer stop()
	var gone atomic.Bool
	gone.Store(true)
	cluster.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		if cluster.CurrentNode() != lost || !gone.Load() {
			return nil, nil, false
		}
		cluster.KeepControl()
		time.AfterFunc(time.Second, stop) // what else is under way arrives
		return nil, errors.New("the broker is gone"), true
	})
	must.Do(t, engine.Run(ctx))
	gone.Store(false)
	b.drain(b.engine(cfg))
	expect.Equal(t, len(b.read(output)), 1, "outputs")
}
