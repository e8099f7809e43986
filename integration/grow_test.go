package integration

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/conservation"
	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/misbehave"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/internal/testkit/topiclog"
)

// grow adds partitions to topics, as an operator does.
func (p *pipe) grow(n int, topics ...string) {
	p.t.Helper()
	answers, err := p.log.Admin().UpdatePartitions(p.ctx, n, topics...)
	if err == nil {
		err = answers.Error()
	}
	if err != nil {
		p.t.Fatal(err)
	}
	eventually.Until(p.ctx, p.t, "the new partitions", func() (bool, string) {
		found, err := p.log.Admin().ListTopics(p.ctx, topics...)
		fits := err == nil
		for _, topic := range topics {
			fits = fits && len(found[topic].Partitions) == n
		}
		return fits, fmt.Sprint(found.Names(), err)
	})
	p.log = topiclog.Connect(p.t, p.set.Brokers) // a client learns of them late
}

// S3-1, S4-14: somebody adds partitions to the source while a consumer runs. It stops at once and says what to type, instead of
// leaving the new partitions unread for minutes; after that every record is delivered once, also those of the new partitions
// that have to wait.
func TestSourceGrows_S3_1_S4_14(t *testing.T) {
	testrun.Nightly(t)
	t.Parallel()
	for _, mode := range []string{"latest_wins", "strict"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			p := newPipe(t, 2*time.Minute, tiers(2*time.Second, 4*time.Second), func(s *settings) { s.Ordering, s.Partitions = mode, 2 }).ensure()
			first, second := ids("a", 20), ids("b", 40)
			p.send(first...)
			consumer := p.start("it")
			p.log.Tail(t, p.topics.Output).UntilCount(p.ctx, t, "the outputs", len(first))
			p.grow(4, p.topics.Source)
			p.send(second...)
			stopped := consumer.Wait(p.ctx, t)
			for _, word := range []string{"has 2 partitions, the source " + p.topics.Source + " has 4", "kafka-topics.sh --alter --topic " + p.topics.DLQ + " --partitions 4"} {
				must.That(t, stopped.Code == 1 && strings.Contains(stopped.Stderr, word), "want exit code 1 and %q: %s", word, stopped)
			}
			if refused := p.start("it", "--until-end").Wait(p.ctx, t); refused.Code != 1 {
				t.Fatalf("want exit code 1 until the topics fit: %s", refused)
			}
			p.grow(4, append(p.topics.Tiers, p.topics.DLQ, p.status, p.topics.Source+".state", p.topics.Source+".ledger")...)
			if check := p.run("consumer", "topics", "check", "-c", p.file); check.Code != 0 {
				t.Fatalf("the topics do not fit: %s", check)
			}
			for _, id := range second {
				p.places.Script(id, misbehave.Status(503), misbehave.OK())
			}
			p.drain()
			wantTotals(t, p.verify(), len(first)+len(second), conservation.Place{Output: len(first) + len(second)})
			expect.That(t, anyBeyond(p.read(p.topics.Source), 2), "no record lies in a new partition")
		})
	}
}

// anyBeyond says whether a record lies in a partition with this number or a higher one.
func anyBeyond(records []*kgo.Record, partition int32) bool {
	for _, r := range records {
		if r.Partition >= partition {
			return true
		}
	}
	return false
}
