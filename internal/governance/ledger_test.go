package governance

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
	"github.com/switchback-geo/switchback/pkg/transform"
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

// S3-7, S3-8: which events get an entry in the ledger, and their governance status in telemetry.
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

// newDocument returns a ledger with entries in three partitions, as Read returns it.
func newDocument(t *testing.T, n int) Document {
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
		expect.That(t, err == nil && e.Decision == audit.Escalated && e.Code == string(classify.CodeGovernanceDenied), "the entry is not an audit event: %+v, %v", e, err)
		place, entry, ok, err := audit.Entry(records[0].Value)
		must.That(t, err == nil && ok && place.Of == audit.Governance, "%+v, %v, %v", place, ok, err)
		p.Entries, head = append(p.Entries, Chained{place.Link, entry}), next
	}
	p.Head = &audit.Head{}
	must.Do(t, json.Unmarshal(head, p.Head))
	p.Begins = 7
	headTime := must.Get(time.Parse(time.RFC3339, p.Head.At))(t)
	const year = 365 * 24 * time.Hour
	return Document{Version: Version, Pipeline: "parcels", Source: "parcels", Partitions: []Partition{p}, ReadAt: headTime.Add(time.Hour), Retention: year.Milliseconds()}
}

func TestLedger_anUnreadableHeadStopsIt(t *testing.T) {
	_, _, err := testLedger(0).Extend(1, []byte("{"), nil)
	expect.That(t, err != nil, "a ledger that lost its head must not begin a new one")
}

func TestDocument_isReadAsItWasWritten(t *testing.T) {
	d := newDocument(t, 3)
	text := must.Get(json.MarshalIndent(d, "", "  "))(t)
	again, err := ParseDocument(text)
	expect.That(t, err == nil && again.Entries() == 3 && audit.Broken(again.Verify()) == nil, "%d entries, %v, %v", again.Entries(), err, again.Verify())
	_, err = ParseDocument([]byte(`{"ledger_version":2}`))
	expect.That(t, err != nil, "a later version is accepted")
}

func FuzzParseDocument(f *testing.F) {
	f.Add([]byte(`{"ledger_version":1,"partitions":[{"partition":0,"head":{"seq":1},"entries":[{"link":{"seq":1},"entry":{}}]}]}`))
	f.Fuzz(func(_ *testing.T, text []byte) {
		if d, err := ParseDocument(text); err == nil {
			_ = d.Verify() // must not panic
		}
	})
}

// S3-8: a denied feature of a collection has its own entry, before that of its record.
func TestLedger_S3_8_hearsOfParts(t *testing.T) {
	whole := event(7, 1, "", policy.OutcomeDelivered, "")
	whole.Dead = []*retrytopics.Event{
		event(7, 1, classify.CodeGovernanceDenied, policy.OutcomeDeadLettered, "sacred"), event(7, 1, classify.CodeNotJSON, policy.OutcomeDeadLettered, ""),
	}
	records, _, err := testLedger(0).Extend(1, nil, []*retrytopics.Event{whole})
	expect.That(t, err == nil && len(records) == 1, "%d entries, %v; want that of the denied part", len(records), err)
}

func feature(t *testing.T, properties string) *transform.Feature {
	t.Helper()
	tr := must.Get(transform.New(transform.Config{}.WithDefaults()))(t)
	return must.Get(tr.Decode([]byte(`{"type":"Feature","id":"a","geometry":{"type":"Point","coordinates":[1,2]},"properties":` + properties + `}`)))(t)
}

func headerOf(key, value string) []kgo.RecordHeader {
	return []kgo.RecordHeader{{Key: key, Value: []byte(value)}}
}

// Where a mark is read from, and which rule it breaks.
func TestPolicy_S3_1(t *testing.T) {
	both := config.Mark{Header: "care", Field: "properties.care"}
	allow, deny, required := both, both, both
	allow.Allow, deny.Deny, required.Required = []string{"open", "attribution"}, []string{"sacred"}, true
	for _, c := range []struct {
		name    string
		rules   config.Mark
		headers []kgo.RecordHeader
		before  string
		feature string // properties of several features, separated by &; "" for a delete
		want    string
		breaks  string
	}{
		{"S3-1_header", both, headerOf("care", " open , attribution "), "", `{}`, "open,attribution", ""},
		{"S3-1_header_before_field", both, headerOf("care", "open"), "", `{"care":"closed"}`, "open", ""},
		{"S3-1_field_when_the_header_is_empty", both, headerOf("care", " , "), "", `{"care":"closed"}`, "closed", ""},
		{"S3-1_field_text", both, nil, "", `{"care":"open,attribution"}`, "open,attribution", ""},
		{"S3-1_field_list", both, nil, "", `{"care":["open","attribution",""]}`, "open,attribution", ""},
		{"S3-1_field_null", both, nil, "", `{"care":null}`, "", ""},
		{"S3-8_an_earlier_hop", both, nil, "open", `{}`, "open", ""},
		{"S3-8_the_record_itself_before_an_earlier_hop", both, nil, "open", `{"care":"closed"}`, "closed", ""},
		{"S3-8_of_a_delete", both, headerOf("care", "open"), "", "", "open", ""},
		{"S3-3_required", required, nil, "", `{}`, "", "governance.care.required"},
		{"S3-3_required_of_a_delete_is_not", required, nil, "", "", "", ""},
		{"S3-3_all_allowed", allow, headerOf("care", "open,attribution"), "", `{}`, "open,attribution", ""},
		{"S3-3_one_not_allowed", allow, headerOf("care", "open,closed"), "", `{}`, "open,closed", "governance.care.allow"},
		{"S3-3_none_is_allowed", allow, nil, "", `{}`, "", ""},
		{"S3-3_one_denied", deny, headerOf("care", "open,sacred"), "", `{}`, "open,sacred", "governance.care.deny"},
		{"S3-3_denied_in_a_header_that_stands_there_twice", deny, append(headerOf("care", "open"), headerOf("care", "sacred")...), "", `{}`, "open,sacred", "governance.care.deny"},
		{"S3-3_not_allowed_in_the_first_of_two", allow, append(headerOf("care", "sacred"), headerOf("care", "open")...), "", `{}`, "sacred,open", "governance.care.allow"},
		{"S3-3_denied_delete", deny, headerOf("care", "sacred"), "", "", "sacred", "governance.care.deny"},
		{"S3-8_marks_of_a_collection", both, nil, "", `{"care":"open"} & {"care":["attribution","open"]}`, "open,attribution", ""},
		{"S3-3_one_of_a_collection_is_denied", deny, nil, "", `{"care":"open"} & {"care":"sacred"}`, "open,sacred", "governance.care.deny"},
		{"S3-3_one_of_a_collection_has_none", required, nil, "", `{"care":"open"} & {}`, "open", "governance.care.required"},
		{"S3-8_too_long_to_travel_whole", both, headerOf("care", strings.Repeat("x", 449)), "", `{}`, strings.Repeat("x", 449), "governance.care"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := NewPolicy(config.Governance{Care: c.rules})
			var features []*transform.Feature
			for properties := range strings.SplitSeq(c.feature, " & ") {
				if properties != "" {
					features = append(features, feature(t, properties))
				}
			}
			marks, err := p.Marks(c.headers, &header.Control{Care: c.before}, features...)
			expect.That(t, marks.Care == c.want, "read %q, want %q", marks.Care, c.want)
			v, broken := err.(*Violation)
			must.That(t, (err == nil || broken) && broken == (c.breaks != "") && (!broken || v.Rule == c.breaks), "got %v, want a violation of %q", err, c.breaks)
			if broken {
				f := classify.Of(err)
				expect.That(t, f.Code == classify.CodeGovernanceDenied && !f.Transient() && f.Category == classify.CategoryGovernance, "classified as %+v", f)
			}
		})
	}
}

// Every kind of mark has its own rules, and a violation names the mark and the rule.
func TestPolicy_S3_8_threeKinds(t *testing.T) {
	p := NewPolicy(config.Governance{
		Care: config.Mark{Header: "c"}, Sovereignty: config.Mark{Header: "s", Allow: []string{"osage"}}, Lineage: config.Mark{Header: "l", Required: true},
	})
	headers := append(append(headerOf("c", "open"), headerOf("s", "osage")...), headerOf("l", "survey:1887")...)
	marks, err := p.Marks(headers, &header.Control{}, feature(t, `{}`))
	expect.That(t, err == nil && marks == (retrytopics.Marks{Care: "open", Sovereignty: "osage", Lineage: "survey:1887"}), "%+v, %v", marks, err)
	for word, headers := range map[string][]kgo.RecordHeader{
		`the sovereignty mark "kaw" is none of those that are allowed (governance.sovereignty.allow)`: append(headerOf("s", "kaw"), headerOf("l", "x")...),
		"the lineage mark is missing (governance.lineage.required)":                                   headerOf("s", "osage"),
	} {
		_, err := p.Marks(headers, &header.Control{}, feature(t, `{}`))
		expect.That(t, err != nil && strings.Contains(err.Error(), word), "%v does not contain %q", err, word)
	}
	marks, err = NewPolicy(config.Governance{}).Marks(headers, &header.Control{Care: "x"})
	expect.That(t, err == nil && marks == (retrytopics.Marks{}), "without rules: %+v, %v", marks, err)
}
