package governance

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

func testLedger(after int) *Ledger {
	cfg := &config.Config{Pipeline: config.Pipeline{ID: "parcels"}, Topics: config.Topics{Audit: "parcels.audit"}, Governance: config.Governance{EscalateAfterAttempts: after}}
	return NewLedger(cfg, "run-1")
}

func event(offset int64, attempt int, code classify.Code, outcome policy.Outcome, care string) *retrytopics.Event {
	at := header.Position{Topic: "parcels", Partition: 1, Offset: offset}
	e := &retrytopics.Event{
		Record:   &retrytopics.Record{Position: at, Source: at, Attempt: attempt, Key: []byte("k")},
		Identity: retrytopics.Identity{FeatureID: "f", Marks: retrytopics.Marks{Care: care}},
		Decision: policy.Decision{Outcome: outcome}, DeadLetterID: fmt.Sprintf("1-%d-00000000", offset),
		At: time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC),
	}
	if code != "" {
		class := classify.Row
		if outcome == policy.OutcomeRetried {
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
		{"denied", event(1, 1, classify.CodeGovernanceDenied, policy.OutcomeDeadLettered, "sacred"), ReasonDenied, StatusDenied},
		{"another dead letter", event(1, 1, classify.CodeNotJSON, policy.OutcomeDeadLettered, "open"), "", StatusAllowed},
		{"a retry below the threshold", event(1, 2, classify.CodeTimeout, policy.OutcomeRetried, "open"), "", StatusAllowed},
		{"a retry at the threshold", event(1, 3, classify.CodeTimeout, policy.OutcomeRetried, "open"), ReasonRetries, StatusEscalated},
		{"a retry at the threshold without marks", event(1, 3, classify.CodeTimeout, policy.OutcomeRetried, ""), "", StatusUngoverned},
		{"a retry beyond it", event(1, 4, classify.CodeTimeout, policy.OutcomeRetried, "open"), "", StatusAllowed},
		{"delivered", event(1, 3, "", policy.OutcomeDelivered, "open"), "", StatusAllowed},
	} {
		l := testLedger(3)
		reason, _ := l.Reason(c.event)
		expect.That(t, reason == c.reason && l.Status(c.event) == c.status, "%s: reason %q, status %q", c.name, reason, l.Status(c.event))
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
			event(int64(i), 1, "", policy.OutcomeDelivered, ""), event(int64(i), 1, classify.CodeGovernanceDenied, policy.OutcomeDeadLettered, "sacred"),
		})
		must.That(t, err == nil && len(records) == 1 && records[0].Topic == "parcels.audit" && records[0].Partition == 1, "%+v, %v", records, err)
		e, err := audit.Parse(records[0].Value)
		expect.That(t, err == nil && e.Decision == audit.Escalated && e.Code == string(classify.CodeGovernanceDenied), "the entry is no audit event: %+v, %v", e, err)
		place, entry, ok, err := audit.Entry(records[0].Value)
		must.That(t, err == nil && ok && place.Of == audit.Governance, "%+v, %v, %v", place, ok, err)
		p.Entries, head = append(p.Entries, Chained{place.Link, entry}), next
	}
	p.Head = &audit.Head{}
	must.Do(t, json.Unmarshal(head, p.Head))
	p.Begins = 7
	made := must.Get(time.Parse(time.RFC3339, p.Head.At))(t)
	const year = 365 * 24 * time.Hour
	return Document{
		Version: Version, Pipeline: "parcels", Source: "parcels", Partitions: []Partition{p}, ReadAt: made.Add(time.Hour), Retention: year.Milliseconds(),
	}
}

func TestLedger_S3_8_theChainShowsAChange(t *testing.T) {
	d := made(t, 4)
	reports := d.Verify()
	expect.That(t, audit.Broken(reports) == nil && len(reports) == 1 && reports[0].Entries == 4, "%+v", reports)
	entry := &d.Partitions[0].Entries[1].Entry
	*entry = []byte(strings.Replace(string(*entry), "sacred", "open", 1))
	err := audit.Broken(d.Verify())
	expect.That(t, errors.Is(err, audit.ErrBroken) && strings.Contains(err.Error(), "entry 2 was changed"), "got %v", err)
}

func TestLedger_anUnreadableHeadStopsIt(t *testing.T) {
	_, _, err := testLedger(0).Extend(1, []byte("{"), nil)
	expect.That(t, err != nil, "a ledger that lost its head must not begin a new one")
}

func TestDocument_isReadAsItWasWritten(t *testing.T) {
	d := made(t, 3)
	text := must.Get(json.MarshalIndent(d, "", "  "))(t)
	again, err := ParseDocument(text)
	if err != nil || again.Entries() != 3 || audit.Broken(again.Verify()) != nil {
		t.Errorf("%d entries, %v, %v", again.Entries(), err, again.Verify())
	}
	_, err = ParseDocument([]byte(`{"ledger_version":2}`))
	expect.That(t, err != nil, "a later version is taken")
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
	whole := event(7, 1, "", policy.OutcomeDelivered, "")
	whole.Dead = []*retrytopics.Event{
		event(7, 1, classify.CodeGovernanceDenied, policy.OutcomeDeadLettered, "sacred"), event(7, 1, classify.CodeNotJSON, policy.OutcomeDeadLettered, ""),
	}
	records, _, err := testLedger(0).Extend(1, nil, []*retrytopics.Event{whole})
	expect.That(t, err == nil && len(records) == 1, "%d entries, %v; want that of the part that is denied", len(records), err)
}
