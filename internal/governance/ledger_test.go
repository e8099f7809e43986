package governance

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/chain"
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

func testLedger(after int) *Ledger {
	cfg := &config.Config{Pipeline: config.Pipeline{ID: "parcels"}, Topics: config.Topics{Audit: "parcels.audit"}, Governance: config.Governance{EscalateAfterAttempts: after}}
	return NewLedger(cfg, "run-1")
}

func event(offset int64, attempt int, code classify.Code, outcome retrytopics.Outcome, care string) *retrytopics.Event {
	at := retrytopics.Position{Topic: "parcels", Partition: 1, Offset: offset}
	e := &retrytopics.Event{
		Record:   &retrytopics.Record{Position: at, Source: at, Attempt: attempt, Key: []byte("k")},
		Identity: retrytopics.Identity{FeatureID: "f", Marks: retrytopics.Marks{Care: care}},
		Decision: retrytopics.Decision{Outcome: outcome}, Letter: fmt.Sprintf("1-%d-00000000", offset),
		At: time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC),
	}
	if code != "" {
		class := classify.Row
		if outcome == retrytopics.OutcomeRetried {
			class = classify.RetryBackoff
		}
		e.Failure = &classify.Failure{Class: class, Code: code, Err: errors.New("no")}
	}
	return e
}

// What belongs into the ledger, and what telemetry says of it (S3-7, S3-8).
func TestLedger_S3_8_takesViolationsAndRetriesBeyondTheThreshold(t *testing.T) {
	for _, c := range []struct {
		name   string
		event  *retrytopics.Event
		reason Reason
		status Status
	}{
		{"denied", event(1, 1, classify.CodeGovernanceDenied, retrytopics.OutcomeDeadLettered, "sacred"), ReasonDenied, StatusDenied},
		{"another dead letter", event(1, 1, classify.CodeNotJSON, retrytopics.OutcomeDeadLettered, "open"), "", StatusAllowed},
		{"a retry below the threshold", event(1, 2, classify.CodeTimeout, retrytopics.OutcomeRetried, "open"), "", StatusAllowed},
		{"a retry at the threshold", event(1, 3, classify.CodeTimeout, retrytopics.OutcomeRetried, "open"), ReasonRetries, StatusEscalated},
		{"a retry at the threshold without marks", event(1, 3, classify.CodeTimeout, retrytopics.OutcomeRetried, ""), "", StatusUngoverned},
		{"a retry beyond it", event(1, 4, classify.CodeTimeout, retrytopics.OutcomeRetried, "open"), "", StatusAllowed},
		{"delivered", event(1, 3, "", retrytopics.OutcomeDelivered, "open"), "", StatusAllowed},
	} {
		l := testLedger(3)
		if reason, _ := l.Reason(c.event); reason != c.reason || l.Status(c.event) != c.status {
			t.Errorf("%s: reason %q, status %q", c.name, reason, l.Status(c.event))
		}
	}
}

// made is a ledger of three partitions' worth of one, as Read would give it.
func made(t *testing.T, n int) Document {
	t.Helper()
	l := testLedger(0)
	p := Partition{Partition: 1}
	var head []byte
	for i := range n {
		records, next, err := l.Extend(1, head, []*retrytopics.Event{
			event(int64(i), 1, "", retrytopics.OutcomeDelivered, ""), event(int64(i), 1, classify.CodeGovernanceDenied, retrytopics.OutcomeDeadLettered, "sacred"),
		})
		if err != nil || len(records) != 1 || records[0].Topic != "parcels.audit" || records[0].Partition != 1 {
			t.Fatalf("%+v, %v", records, err)
		}
		if e, err := audit.Parse(records[0].Value); err != nil || e.Decision != audit.Escalated || e.Code != string(classify.CodeGovernanceDenied) {
			t.Errorf("the entry is no audit event: %+v, %v", e, err)
		}
		link, entry, ok, err := split(records[0].Value)
		if err != nil || !ok {
			t.Fatalf("%v, %v", ok, err)
		}
		p.Entries, head = append(p.Entries, Chained{link, entry}), next
	}
	p.Head = &chain.Link{}
	if err := json.Unmarshal(head, p.Head); err != nil {
		t.Fatal(err)
	}
	at := headRecord{}
	if err := json.Unmarshal(head, &at); err != nil || at.At == "" {
		t.Fatalf("head %s: %v", head, err)
	}
	p.HeadAt, p.Begins = at.At, new(int64(7))
	made, err := time.Parse(time.RFC3339, at.At)
	if err != nil {
		t.Fatal(err)
	}
	const year = 365 * 24 * time.Hour
	return Document{
		Version: Version, Pipeline: "parcels", Source: "parcels", Partitions: []Partition{p}, ReadAt: made.Add(time.Hour), Retention: year.Milliseconds(),
	}
}

// An export that was kept apart shows what the topics alone do not.
func TestLedger_S3_8_anEarlierExportShowsAnotherHistory(t *testing.T) {
	before := made(t, 2)
	for name, c := range map[string]struct {
		change func(*Partition)
		says   string
	}{
		"it goes on":                  {func(*Partition) {}, ""},
		"the same again":              {func(p *Partition) { p.Entries, p.Head = p.Entries[:2], &p.Entries[1].Link }, ""},
		"retention took it meanwhile": {func(p *Partition) { p.Entries = p.Entries[2:] }, ""},
		"it is shorter":               {func(p *Partition) { p.Entries, p.Head = p.Entries[:1], &p.Entries[0].Link }, "it ends with entry 1 now, and had 2 before"},
		"another entry":               {func(p *Partition) { p.Entries[1].Link.Hash = "sha256:00" }, "entry 2 has the hash sha256:00 now"},
		"another entry that is gone":  {func(p *Partition) { p.Entries = p.Entries[2:]; p.Entries[0].Link.Prev = "sha256:00" }, "entry 2 has the hash sha256:00 now"},
		"it is gone":                  {func(p *Partition) { p.Entries, p.Head = nil, nil }, "has no chain now"},
	} {
		d := made(t, 4)
		c.change(&d.Partitions[0])
		if err := d.Continues(before); (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
}

func TestLedger_S3_8_saysWhatIsGone(t *testing.T) {
	d := made(t, 4)
	if d.Missing() != nil {
		t.Errorf("%q", d.Missing())
	}
	d.Partitions[0].Entries = d.Partitions[0].Entries[2:]
	if got := d.Missing(); len(got) != 1 || !strings.HasPrefix(got[0], "partition 1: it begins with entry 3;") {
		t.Errorf("%q", got)
	}
	d.Partitions[0].Entries = nil
	if got := d.Missing(); len(got) != 1 || !strings.HasPrefix(got[0], "partition 1: all of its 4 entries are gone") {
		t.Errorf("%q", got)
	}
}

func TestLedger_S3_8_theChainShowsEveryChange(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Partition)
		says   string
	}{
		"as it is":              {func(*Partition) {}, ""},
		"retention took a part": {func(p *Partition) { p.Entries = p.Entries[2:] }, ""},
		"retention took all":    {func(p *Partition) { p.Entries, p.HeadAt = nil, "2020-01-01T00:00:00.000Z" }, ""},
		"all of a partition from which nothing was deleted": {func(p *Partition) { p.Entries, p.Begins = nil, new(int64) }, "entries 1 to 4 are not there"},
		"a part of such a one":                              {func(p *Partition) { p.Entries, p.Begins = p.Entries[2:], new(int64) }, "entries 1 to 2 are not there"},
		"all of it, younger than retention":                 {func(p *Partition) { p.Entries = nil }, "somebody deleted them"},
		"an entry is changed": {func(p *Partition) {
			p.Entries[1].Entry = []byte(strings.Replace(string(p.Entries[1].Entry), "sacred", "open", 1))
		}, "entry 2 was changed"},
		"an entry is taken out": {func(p *Partition) { p.Entries = slices.Delete(p.Entries, 1, 2) }, "entry 3 follows entry 1"},
		"the last one is gone":  {func(p *Partition) { p.Entries = p.Entries[:3] }, "its head is entry 4"},
		"the head is gone":      {func(p *Partition) { p.Head = nil }, "no head"},
		"of a later version":    {func(p *Partition) { p.rewrite(t, 3, `{"ledger_version":9,"reason":"x"}`) }, "use a newer one"},
		"an entry that is none": {func(p *Partition) { p.rewrite(t, 3, `{"ledger_version":"x"}`) }, "entry 4"},
	} {
		d := made(t, 4)
		c.change(&d.Partitions[0])
		if err := d.Verify(); (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
}

// rewrite puts another entry at the end, with a link and a head that fit.
func (p *Partition) rewrite(t *testing.T, i int, text string) {
	t.Helper()
	link, err := p.Entries[i-1].Link.Next([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	p.Entries[i], p.Head = Chained{link, []byte(text)}, &link
}

func TestLedger_anUnreadableHeadStopsIt(t *testing.T) {
	if _, _, err := testLedger(0).Extend(1, []byte("{"), nil); err == nil {
		t.Error("a ledger that lost its head must not begin a new one")
	}
}

func TestDocument_isReadAsItWasWritten(t *testing.T) {
	d := made(t, 3)
	text, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	again, err := ParseDocument(text)
	if err != nil || again.Entries() != 3 || again.Verify() != nil {
		t.Errorf("%d entries, %v, %v", again.Entries(), err, again.Verify())
	}
	if _, err := ParseDocument([]byte(`{"ledger_version":2}`)); err == nil {
		t.Error("a later version is taken")
	}
}

func FuzzParseDocument(f *testing.F) {
	f.Add([]byte(`{"ledger_version":1,"partitions":[{"partition":0,"head":{"seq":1},"entries":[{"link":{"seq":1},"entry":{}}]}]}`))
	f.Fuzz(func(_ *testing.T, text []byte) {
		if d, err := ParseDocument(text); err == nil {
			_ = d.Verify() // must not panic
		}
	})
}

// S3-8: a feature of a collection that is denied by itself has an entry of its own, before that of its record.
func TestLedger_S3_8_hearsOfParts(t *testing.T) {
	whole := event(7, 1, "", retrytopics.OutcomeDelivered, "")
	whole.Dead = []*retrytopics.Event{
		event(7, 1, classify.CodeGovernanceDenied, retrytopics.OutcomeDeadLettered, "sacred"), event(7, 1, classify.CodeNotJSON, retrytopics.OutcomeDeadLettered, ""),
	}
	records, _, err := testLedger(0).Extend(1, nil, []*retrytopics.Event{whole})
	if err != nil || len(records) != 1 {
		t.Errorf("%d entries, %v; want that of the part that is denied", len(records), err)
	}
}
