package integration

import (
	"fmt"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/broker"
	"github.com/switchback-geo/switchback/internal/testkit/conservation"
	"github.com/switchback-geo/switchback/internal/testkit/misbehave"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/internal/testkit/topiclog"
	"github.com/twmb/franz-go/pkg/kgo"
)

// needRealKafka skips a test whose claim counts only on a real broker. Where one
// was demanded and is not there, the test fails: it must not vanish in silence.
func needRealKafka(t *testing.T) {
	t.Helper()
	switch kafka := theWorld(t).kafka; {
	case kafka.Real() && broker.Forced():
	case kafka.Real():
		t.Skipf("takes minutes of kills and expiries: %s=kafka runs it", broker.EnvForce)
	case broker.Forced():
		t.Fatalf("%s=kafka, but the broker is %s", broker.EnvForce, kafka)
	default:
		t.Skipf("needs a real broker: kfake ends transactions at once and fences nobody, so a SIGKILL proves nothing there (%s=kafka runs it)", broker.EnvForce)
	}
}

// S3-1, S4-14, C-1: consumers killed in mid-flow, several times, lose nothing and
// double nothing for a reader with read_committed.
func TestKilledConsumers_S3_1_S4_14(t *testing.T) {
	testrun.Proof(t)
	t.Parallel()
	needRealKafka(t)
	p := newPipe(t, 4*time.Minute, killed, func(s *settings) { s.Partitions = 6 }).ensure()
	const n, kills = 6000, 5
	all := ids("k", n)
	for i, id := range all {
		switch {
		case i%10 == 0: // transient, once to three times
			p.places.Script(id, misbehave.Times(1+i/10%3, misbehave.Status(503))...)
		case i%100 == 1: // permanent
			p.places.Script(id, misbehave.Times(1000, misbehave.Status(404))...)
		}
	}
	tiers, output := p.log.Tail(t, p.topics.Tiers...), p.log.Tail(t, p.topics.Output)
	p.send(all...)
	p.killAmid(output, kills, n/(kills+2), n/(4*kills))
	p.drain()
	wantTotals(t, p.verify(tiers.Seen()...), n, conservation.Place{Output: n - n/100, Letters: n / 100})
	// How many failures reach a tier depends on the kills: an attempt that dies with its consumer has used up an answer.
	if held := p.neverEarly(tiers.Seen()); held < n/100 {
		t.Errorf("%d tier records were seen: too few to prove anything", held)
	}
}

// killAmid starts consumers, one after the other, and kills each once it has added
// effects to the output. The service answers budget requests of each only, so that the
// kill meets work in flight on the fastest machine too.
func (p *pipe) killAmid(output *topiclog.Tail, kills, budget, effects int) {
	p.t.Helper()
	for kill := range kills {
		p.places.Budget(budget)
		consumer := p.start("it")
		mark := len(output.Seen()) + effects
		output.Until(p.ctx, p.t, fmt.Sprintf("progress before kill %d", kill+1), func(seen []*kgo.Record) bool {
			select {
			case <-consumer.Done():
				p.t.Fatalf("the consumer ended by itself before kill %d", kill+1)
			default:
			}
			return len(seen) >= mark
		})
		if !consumer.Kill() {
			p.t.Fatalf("kill %d hit a consumer that had already ended", kill+1)
		}
	}
	p.places.Budget(-1)
}
