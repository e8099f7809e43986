package integration

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
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
