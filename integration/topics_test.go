package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/conservation"
	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/misbehave"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/internal/testkit/topiclog"
)

// addPartitions increases the number of partitions of topics.
func (p *pipe) addPartitions(n int, topics ...string) {
	p.t.Helper()
	answers, err := p.log.Admin().UpdatePartitions(p.ctx, n, topics...)
	if err == nil {
		err = answers.Error()
	}
	must.Do(p.t, err)
	eventually.Until(p.ctx, p.t, "the new partitions", func() (bool, string) {
		found, err := p.log.Admin().ListTopics(p.ctx, topics...)
		fits := err == nil
		for _, topic := range topics {
			fits = fits && len(found[topic].Partitions) == n
		}
		return fits, fmt.Sprint(found.Names(), err)
	})
	p.log = topiclog.Connect(p.t, p.set.Brokers) // a new client, because the old one has stale metadata
}

// S3-1, S4-14: partitions are added to the source topic while a consumer runs. The consumer stops at once and prints the
// command to run. After that, every record is delivered once, including records of the new partitions that wait in
// tiers.
func TestSourceGrows_S3_1_S4_14(t *testing.T) {
	parallel(t, testrun.Nightly)
	for _, mode := range []string{"latest_wins", "strict"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			p := newPipe(t, 2*time.Minute, tiers(2*time.Second, 4*time.Second), func(s *settings) { s.Ordering, s.Partitions = mode, 2 }).ensure()
			first, second := ids("a", 20), ids("b", 40)
			p.send(first...)
			consumer := p.start("it")
			p.log.Tail(t, p.topics.Output).UntilCount(p.ctx, t, "the outputs", len(first))
			p.addPartitions(4, p.topics.Source)
			p.send(second...)
			stopped := consumer.Wait(p.ctx, t)
			for _, word := range []string{"has 2 partitions, the source " + p.topics.Source + " has 4", "kafka-topics.sh --alter --topic " + p.topics.DLQ + " --partitions 4"} {
				must.That(t, stopped.Code == 1 && strings.Contains(stopped.Stderr, word), "want exit code 1 and %q: %s", word, stopped)
			}
			refused := p.start("it", "--until-end").Wait(p.ctx, t)
			must.That(t, refused.Code == 1, "want exit code 1 until the topics match: %s", refused)
			p.addPartitions(4, append(p.topics.Tiers, p.topics.DLQ, p.statusTopic, p.topics.Source+".state", p.topics.Source+".ledger")...)
			p.runConsumer("topics", "check")
			for _, id := range second {
				p.places.Script(id, misbehave.Status(503), misbehave.OK())
			}
			p.drain()
			wantTotals(t, p.verify(), len(first)+len(second), conservation.Place{Output: len(first) + len(second)})
			expect.That(t, anyBeyond(p.read(p.topics.Source), 2), "no record is in a new partition")
		})
	}
}

// anyBeyond reports whether a record is in a partition with this number or a higher one.
func anyBeyond(records []*kgo.Record, partition int32) bool {
	for _, r := range records {
		if r.Partition >= partition {
			return true
		}
	}
	return false
}

// S0-4: a topic to which a running consumer writes is deleted and re-created. The consumer continues on its own, and
// no result is produced twice.
func TestTopicRecreated_S0_4_underARunningConsumer(t *testing.T) {
	parallel(t, testrun.Nightly)
	const n = 80
	for _, which := range []string{"dlq", "output"} {
		t.Run(which, func(t *testing.T) {
			t.Parallel()
			p := newPipe(t, 2*time.Minute).ensure()
			topic, answer := p.topics.Output, misbehave.OK()
			if which == "dlq" {
				topic, answer = p.topics.DLQ, misbehave.Status(404)
			}
			p.places.Default(answer)
			consumer := p.start("it")
			p.send(ids("before", 10)...)
			p.log.Tail(t, topic).UntilCount(p.ctx, t, "the first records", 10)

			must.Do(t, p.log.Delete(p.ctx, topic))
			p.send(ids("meanwhile", n/2)...)
			p.log = topiclog.Connect(t, p.set.Brokers) // the previous client has the deleted topic's metadata
			p.runConsumer("topics", "ensure")
			p.send(ids("after", n/2)...)
			p.log.Tail(t, topic).UntilCount(p.ctx, t, "the later records", n)
			for _, id := range append(ids("meanwhile", n/2), ids("after", n/2)...) {
				expect.That(t, len(p.places.Arrivals(id)) >= 1, "no request for %s", id)
			}
			p.stop(consumer)
			expect.Equal(t, len(p.read(topic)), n, "records in", topic)
		})
	}
}

// deleteRecords deletes all records of a topic, as retention does, and returns the number of deleted offsets.
func (p *pipe) deleteRecords(topic string) (n int) {
	p.t.Helper()
	starts := must.Get(p.log.Admin().ListStartOffsets(p.ctx, topic))(p.t)
	ends := must.Get(p.log.Admin().ListEndOffsets(p.ctx, topic))(p.t)
	ends.Each(func(o kadm.ListedOffset) {
		start, _ := starts.Lookup(topic, o.Partition)
		n += int(o.Offset - start.Offset)
	})
	deleted, err := p.log.Admin().DeleteRecords(p.ctx, ends.Offsets())
	if err == nil {
		err = deleted.Error()
	}
	must.Do(p.t, err)
	return n
}

// wantLost checks that log and audit trail report lost records of a topic.
func (p *pipe) wantLost(t *testing.T, log, topic string) {
	t.Helper()
	expect.That(t, strings.Contains(log, "records were deleted before they were consumed") && strings.Contains(log, `"topic":"`+topic+`"`), "the log does not report the lost records of %s:\n%s", topic, log)
	if !slices.ContainsFunc(p.auditValues(), func(v string) bool {
		return strings.Contains(v, `"decision":"lost"`) && strings.Contains(v, `"source":"`+topic+"/")
	}) {
		t.Errorf("the audit trail does not report the lost records of %s", topic)
	}
}

func (p *pipe) auditValues() (values []string) {
	for _, r := range p.read(p.topics.Audit) {
		values = append(values, string(r.Value))
	}
	return values
}

// S4-10, S0-4: records of the source topic that were deleted while no consumer ran, or while the pipeline was paused,
// are counted as lost once.
func TestLost_S4_10_ofTheSource(t *testing.T) {
	parallel(t, testrun.Proof)
	p := newPipe(t, 2*time.Minute).ensure()
	p.send(ids("a", 30)...)
	p.drain().wantBalanced(t)
	p.send(ids("b", 9)...)
	must.Equal(t, p.deleteRecords(p.topics.Source), 39, "offsets deleted")
	r := p.start("it", "--until-end", "--summary", "-").Wait(p.ctx, t)
	s := readSummary(t, r.Stdout)
	expect.That(t, r.Code == 0 && s["lost_to_retention"] == 9.0 && s.number(t, "consumed") == 0, "after 9 records were deleted: %s", r)
	p.wantLost(t, r.Stderr, p.topics.Source)
	p.send(ids("c", 6)...)
	s = p.drain()
	expect.That(t, s["lost_to_retention"] == nil && s.number(t, "delivered") == 6, "the lost records are counted again: %v", s)

	r = p.run("consumer", "pause", "-c", p.file, "--reason", "test")
	must.That(t, r.Code == 0, "pause: %s", r)
	held := p.start("held")
	p.members(1)
	p.send(ids("d", 3)...)
	p.deleteRecords(p.topics.Source)
	p.send(ids("e", 4)...)
	eventually.Until(p.ctx, t, "a second gap in the audit trail", func() (bool, string) {
		gone := 0
		for _, v := range p.auditValues() {
			if strings.Contains(v, `"decision":"lost"`) {
				gone++
			}
		}
		return gone > 3, "" // the first gap has at most one event for each partition
	})
	r = p.run("consumer", "resume", "-c", p.file, "--reason", "test")
	must.That(t, r.Code == 0, "resume: %s", r)
	p.log.Tail(t, p.topics.Output).UntilCount(p.ctx, t, "the remaining records", 40)
	r = p.stop(held)
	expect.That(t, strings.Contains(r.Stderr, `"lost_to_retention":3`), "after 3 records were deleted while paused: %s", r)
}
