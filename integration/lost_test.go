package integration

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

// deleteAll deletes the records of a topic up to its end, as retention does, and gives how many offsets went.
func (p *pipe) deleteAll(topic string) (n int) {
	p.t.Helper()
	starts, err := p.log.Admin().ListStartOffsets(p.ctx, topic)
	if err != nil {
		p.t.Fatal(err)
	}
	ends, err := p.log.Admin().ListEndOffsets(p.ctx, topic)
	if err != nil {
		p.t.Fatal(err)
	}
	ends.Each(func(o kadm.ListedOffset) {
		start, _ := starts.Lookup(topic, o.Partition)
		n += int(o.Offset - start.Offset)
	})
	deleted, err := p.log.Admin().DeleteRecords(p.ctx, ends.Offsets())
	if err == nil {
		err = deleted.Error()
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return n
}

// wantLost wants the log, the audit trail and the summary of a run to tell of a gap in a topic.
func (p *pipe) wantLost(t *testing.T, said, topic string) {
	t.Helper()
	expect.That(t, strings.Contains(said, "records were deleted before they were consumed") && strings.Contains(said, `"topic":"`+topic+`"`),
		"the log does not tell of the gap in %s:\n%s", topic, said)
	if !slices.ContainsFunc(p.auditValues(), func(v string) bool {
		return strings.Contains(v, `"decision":"lost"`) && strings.Contains(v, `"source":"`+topic+"/")
	}) {
		t.Errorf("the audit trail does not tell of the gap in %s", topic)
	}
}

func (p *pipe) auditValues() (values []string) {
	for _, r := range p.read(p.topics.Audit) {
		values = append(values, string(r.Value))
	}
	return values
}

// S4-10, S0-4: records of the source that were deleted while no consumer ran, and others while one was paused, are counted once.
func TestLost_S4_10_ofTheSource(t *testing.T) {
	testrun.Proof(t)
	t.Parallel()
	p := newPipe(t, 2*time.Minute).ensure()
	p.send(ids("a", 30)...)
	p.drain().balances(t)
	p.send(ids("b", 9)...)
	if n := p.deleteAll(p.topics.Source); n != 39 {
		t.Fatalf("%d offsets deleted, want 39", n)
	}
	r := p.start("it", "--until-end", "--summary", "-").Wait(p.ctx, t)
	s := readSummary(t, r.Stdout)
	expect.That(t, r.Code == 0 && s["lost_to_retention"] == 9.0 && s.number(t, "consumed") == 0, "after 9 records were deleted: %s", r)
	p.wantLost(t, r.Stderr, p.topics.Source)
	p.send(ids("c", 6)...)
	if s := p.drain(); s["lost_to_retention"] != nil || s.number(t, "delivered") != 6 {
		t.Errorf("the gap counts again: %v", s)
	}

	if r := p.run("consumer", "pause", "-c", p.file, "--reason", "test"); r.Code != 0 {
		t.Fatalf("pause: %s", r)
	}
	held := p.start("held")
	p.members(1)
	p.send(ids("d", 3)...)
	p.deleteAll(p.topics.Source)
	p.send(ids("e", 4)...)
	eventually.Until(p.ctx, t, "a second gap in the audit trail", func() (bool, string) {
		gone := 0
		for _, v := range p.auditValues() {
			if strings.Contains(v, `"decision":"lost"`) {
				gone++
			}
		}
		return gone > 3, "" // at most one for each partition of the first gap
	})
	if r := p.run("consumer", "resume", "-c", p.file, "--reason", "test"); r.Code != 0 {
		t.Fatalf("resume: %s", r)
	}
	p.log.Tail(t, p.topics.Output).UntilCount(p.ctx, t, "what was left", 40)
	r = p.stop(held)
	expect.That(t, strings.Contains(r.Stderr, `"lost_to_retention":3`), "after 3 records were deleted while paused: %s", r)
}
