package integration

import (
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/misbehave"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/internal/testkit/topiclog"
)

// S0-4: somebody deletes a topic that a running consumer writes to, and makes it again. The consumer goes on by itself: it aborts some
// transactions, not thousands, and no result is made twice for it.
func TestTopicRecreated_S0_4_underARunningConsumer(t *testing.T) {
	testrun.Nightly(t)
	t.Parallel()
	const n, mostAborts = 80, 1000
	for _, which := range []string{"dlq", "output"} {
		t.Run(which, func(t *testing.T) {
			t.Parallel()
			p := newPipe(t, 2*time.Minute, func(s *settings) { s.Metrics = "127.0.0.1:0" }).ensure()
			topic, answer := p.topics.Output, misbehave.OK()
			if which == "dlq" {
				topic, answer = p.topics.DLQ, misbehave.Status(404)
			}
			p.places.Default(answer)
			consumer := p.start("it")
			address := p.address(consumer)
			p.send(ids("before", 10)...)
			p.log.Tail(t, topic).UntilCount(p.ctx, t, "what was there before", 10)

			must.Do(t, p.log.Delete(p.ctx, topic))
			p.send(ids("meanwhile", n/2)...)
			p.log = topiclog.Connect(t, p.set.Brokers) // a client takes the topic for the one that it knows
			if r := p.run("consumer", "topics", "ensure", "-c", p.file); r.Code != 0 {
				t.Fatalf("consumer topics ensure: %s", r)
			}
			p.send(ids("after", n/2)...)
			p.log.Tail(t, topic).UntilCount(p.ctx, t, "what came since", n)
			if aborts := p.aborts(address); aborts > mostAborts {
				t.Errorf("%d transactions were aborted, want at most %d", aborts, mostAborts)
			}
			for _, id := range append(ids("meanwhile", n/2), ids("after", n/2)...) {
				if calls := len(p.places.Arrivals(id)); calls < 1 {
					t.Errorf("no request for %s", id)
				}
			}
			p.stop(consumer)
			if got := len(p.read(topic)); got != n {
				t.Errorf("%d records in %s, want %d", got, topic, n)
			}
		})
	}
}
