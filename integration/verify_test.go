package integration

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/misbehave"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

// recordsReport is the output of `consumer verify records -o json`.
type recordsReport struct {
	Verdict  string
	Findings []struct{ Kind, Source, Detail string }
	Found    map[string]int64
	All      map[string]int64
	Unknowns []struct {
		Topic, Reason string
		Records       int64
	} `json:"cannot_be_known"`
}

// verifyRecords runs the command and checks its exit code and verdict.
func (p *pipe) verifyRecords(t *testing.T, code int, verdict string, args ...string) (report recordsReport) {
	t.Helper()
	r := p.run("consumer", append([]string{"verify", "records", "-c", p.file, "-o", "json"}, args...)...)
	err := json.Unmarshal([]byte(r.Stdout), &report)
	must.That(t, err == nil && r.Code == code && report.Verdict == verdict, "want exit code %d and %s (%v): %s", code, verdict, err, r)
	sum := int64(0)
	for _, where := range []string{"delivered", "dead_lettered", "duplicates", "superseded", "filtered", "waiting", "unread", "in_flight", "unknown", "missing"} {
		sum += report.All[where]
	}
	expect.That(t, sum == report.All["records"], "the counts do not add up: %v", report.All)
	return report
}

// wantFindings checks that the findings of one kind name exactly these source positions.
func (s recordsReport) wantFindings(t *testing.T, kind string, sources ...string) {
	t.Helper()
	var named []string
	for _, f := range s.Findings {
		if f.Kind == kind {
			named = append(named, f.Source)
		}
	}
	slices.Sort(named)
	slices.Sort(sources)
	expect.That(t, slices.Equal(named, sources) && s.Found[kind] == int64(len(sources)), "%d findings of kind %s: %v, want %v; all: %+v", s.Found[kind], kind, named, sources, s.Findings)
}

func positions(records []*kgo.Record) (all []string) {
	for _, r := range records {
		all = append(all, fmt.Sprintf("%s/%d/%d", r.Topic, r.Partition, r.Offset))
	}
	return all
}

// S0-4: deleting the output topic's records makes deliveries unknown, not missing. A duplicate output and records that
// were skipped by a commit are named.
func TestVerify_S0_4_tellsGoneFromMissingAndDoubled(t *testing.T) {
	parallel(t, testrun.Fast)
	p := newPipe(t, 2*time.Minute, func(s *settings) { s.Partitions = 1 }).ensure()
	p.failFirst(1, "a-0")
	p.send(ids("a", 10)...)
	many := make([]kgo.RecordHeader, 10_000) // the pipeline adds its own headers to these
	p.sendRecords(&kgo.Record{Topic: p.topics.Source, Key: []byte("many"), Value: []byte(featureAt("many", 1)), Headers: many}, &kgo.Record{Topic: p.topics.Source, Key: []byte("bad"), Value: []byte("{"), Headers: many})
	p.drain()
	p.verifyRecords(t, 0, "proven")
	outputs := p.read(p.topics.Output)
	again := *outputs[3]
	from := value(&again, "switchback-source")
	p.sendRecords(&again, &kgo.Record{Topic: p.topics.Output, Value: []byte("by hand")})
	p.verifyRecords(t, 4, "violated").wantFindings(t, "duplicated", from)

	skipped := p.send("skipped-0", "skipped-1")
	offsets := kadm.Offsets{}
	offsets.AddOffset(p.topics.Source, 0, skipped[1].Offset+1, -1)
	must.Do(t, p.log.Admin().CommitAllOffsets(p.ctx, p.topics.Group, offsets))
	s := p.verifyRecords(t, 4, "violated")
	s.wantFindings(t, "missing", positions(skipped)...)
	s.wantFindings(t, "duplicated", from)
	s = p.verifyRecords(t, 4, "violated", "--partition", "0", "--from", fmt.Sprint(skipped[1].Offset))
	s.wantFindings(t, "missing", positions(skipped[1:])...)
	s.wantFindings(t, "duplicated")

	p.deleteRecords(p.topics.Output)
	s = p.verifyRecords(t, 0, "unknown")
	expect.That(t, len(s.Unknowns) == 1 && s.Unknowns[0].Topic == p.topics.Output && s.Unknowns[0].Reason == "retention" && s.All["unknown"] != 0, "%+v", s)
}

// S0-4: while a healthy pipeline runs, with retries, dead letters, duplicates and replays, every verification proves it.
func TestVerify_S0_4_ofAPipelineThatRuns(t *testing.T) {
	parallel(t, testrun.Nightly)
	p := newPipe(t, 2*time.Minute).ensure()
	one, two := p.start("one"), p.start("two")
	output := p.log.Tail(t, p.topics.Output)
	const rounds, n = 6, 120
	for i := range rounds {
		all := ids(fmt.Sprintf("v%d", i), n)
		for k, id := range all {
			switch k % 6 {
			case 1:
				p.failFirst(1, id)
			case 2:
				p.failFirst(3, id)
			case 3:
				p.places.Script(id, misbehave.Status(404))
			}
		}
		p.send(all...)
		p.send(all[:10]...) // duplicates
		p.verifyRecords(t, 0, "proven")
	}
	output.UntilCount(p.ctx, t, "deliveries", rounds*n/2)
	p.verifyRecords(t, 0, "proven")
	p.stop(one)
	p.stop(two)
	p.drain()
	s := p.verifyRecords(t, 0, "proven")
	inputs, sum := p.verify().Totals()
	closed := s.All["duplicates"] + s.All["superseded"] + s.All["filtered"]
	if have := []int64{s.All["records"], s.All["delivered"], s.All["dead_lettered"], closed}; inputs != rounds*(n+10) || sum.DeadLetters == 0 ||
		!slices.Equal(have, []int64{int64(inputs), int64(sum.Output), int64(sum.DeadLetters), int64(sum.Closed)}) {
		t.Errorf("%v, the checker of the tests counts %d records in %+v", have, inputs, sum)
	}
	p.replay("--execute", "--reason", "test")
	p.verifyRecords(t, 0, "proven")
	p.drain()
	p.verifyRecords(t, 0, "proven")
	r := p.run("consumer", "verify", "records", "-c", p.file)
	expect.That(t, r.Code == 0 && strings.Contains(r.Stdout, "PROVEN: each of 780 records is in exactly one place"), "text output: %s", r)
}

// S0-4: each record that waits in a former tier which no running instance consumes is named.
func TestVerify_S0_4_namesWhatIsStranded(t *testing.T) {
	parallel(t, testrun.Fast)
	p := newPipe(t, 2*time.Minute, tiers(time.Second, 40*time.Second)).ensure()
	const n = 20
	all := ids("s", n)
	p.failFirst(2, all...)
	waiting := p.log.Tail(t, p.tierTopic(40*time.Second))
	old := p.start("it")
	sent := p.send(all...)
	waiting.UntilCount(p.ctx, t, "all in the second tier", n)
	p.stop(old)
	p.changeTiers(time.Second, 5*time.Second)
	if s := p.verifyRecords(t, 0, "proven"); s.All["waiting"] != n { // no instance runs: they wait
		t.Errorf("%v", s.All)
	}
	member, err := kgo.NewClient(kgo.SeedBrokers(p.set.Brokers...), kgo.ConsumerGroup(p.topics.Group), kgo.DisableAutoCommit(),
		kgo.ConsumeTopics(p.topics.Source, p.tierTopic(time.Second), p.tierTopic(5*time.Second))) // an instance that does not consume the former tier
	must.Do(t, err)
	defer member.Close()
	p.members(1)
	s := p.verifyRecords(t, 4, "violated", "--limit", "100")
	s.wantFindings(t, "stranded", positions(sent)...)
	s = p.verifyRecords(t, 4, "violated", "--limit", "3")
	expect.That(t, len(s.Findings) == 3 && s.Found["stranded"] == n, "limit: %+v", s)
}

// S4-14: after a lost state topic was adopted, the delivered and the waiting records are found where they are.
func TestVerify_S4_14_afterALostMemoryIsAdopted(t *testing.T) {
	parallel(t, testrun.Fast)
	p := newPipe(t, 2*time.Minute, tiers(time.Second, 40*time.Second)).ensure()
	p.failFirst(2, "waits")
	waiting := p.leaveWaiting("waits", ids("a", 40)...)
	must.Do(t, p.log.Delete(p.ctx, p.topics.Source+".state"))
	p.runConsumer("topics", "ensure")
	p.runConsumer("topics", "adopt", "--execute")
	s := p.verifyRecords(t, 0, "proven")
	expect.That(t, s.All["delivered"] == 40 && s.All["waiting"] == int64(waiting), "%v", s.All)
}
