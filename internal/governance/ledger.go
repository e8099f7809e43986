package governance

import (
	"encoding/json"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// Version is the version of the ledger's format.
const Version = 1

// Reason is why an entry was made.
type Reason string

// The reasons.
const (
	ReasonDenied  Reason = "governance_denied" // a rule forbids to process the record: it is in the DLQ, escalated
	ReasonRetries Reason = "retry_threshold"   // an attempt with the number escalate_after_attempts failed; retries go on
)

// Reasons lists every reason.
func Reasons() []Reason { return []Reason{ReasonDenied, ReasonRetries} }

// Entry is one entry of the ledger. Its decision is audit.Escalated, so it is an audit event too.
type Entry struct {
	Version     int            `json:"ledger_version"`
	Time        string         `json:"time"` // RFC 3339, milliseconds, UTC
	Pipeline    string         `json:"pipeline"`
	RunID       string         `json:"run_id,omitempty"`
	Source      string         `json:"source"` // first position of the record, topic/partition/offset
	FeatureID   string         `json:"feature_id,omitempty"`
	ContentHash string         `json:"content_hash,omitempty"`
	Decision    audit.Decision `json:"decision"`
	Reason      Reason         `json:"reason"`
	Code        string         `json:"code"`
	Attempt     int            `json:"attempt"`
	Message     string         `json:"message"`
	Letter      string         `json:"letter,omitempty"` // ID of the dead letter
	Care        string         `json:"care,omitempty"`
	Sovereignty string         `json:"sovereignty,omitempty"`
	Lineage     string         `json:"lineage,omitempty"`
}

// Ledger makes the entries of a pipeline.
type Ledger struct {
	topic, pipeline, runID string
	after                  int
}

// NewLedger returns the ledger of a configuration.
func NewLedger(cfg *config.Config, runID string) *Ledger {
	return &Ledger{topic: cfg.Topics.Audit, pipeline: cfg.Pipeline.ID, runID: runID, after: cfg.Governance.EscalateAfterAttempts}
}

// Reason returns why an event belongs into the ledger, if it does.
func (l *Ledger) Reason(e *retrytopics.Event) (Reason, bool) {
	switch {
	case e.Failure == nil:
		return "", false
	case e.Decision.Outcome == policy.OutcomeDeadLettered && e.Failure.Code == classify.CodeGovernanceDenied:
		return ReasonDenied, true
	case l.after > 0 && e.Record.Attempt == l.after && e.Failure.Transient() && e.Identity.Care+e.Identity.Sovereignty != "":
		return ReasonRetries, true
	}
	return "", false
}

// Extend returns the entries of one shard's events, each linked to the previous one; it is the Extend of the engine's
// hash chain. The head is an audit.Head as JSON.
func (l *Ledger) Extend(partition int32, head []byte, events []*retrytopics.Event) ([]*kgo.Record, []byte, error) {
	var last audit.Head
	if head != nil {
		if err := json.Unmarshal(head, &last); err != nil {
			return nil, nil, fmt.Errorf("head of the governance ledger, partition %d: %w", partition, err)
		}
	}
	var records []*kgo.Record
	for _, e := range withParts(events) {
		reason, ok := l.Reason(e)
		if !ok {
			continue
		}
		entry := l.entry(e, reason)
		value, next, err := entry.chained(last)
		if err != nil {
			return nil, nil, err
		}
		records = append(records, &kgo.Record{Topic: l.topic, Partition: partition, Key: e.Record.Key, Value: value})
		last = next
	}
	if records == nil {
		return nil, head, nil
	}
	next, err := json.Marshal(last)
	return records, next, err
}

// withParts inserts the parts of a record that are dead letters of their own before it.
func withParts(events []*retrytopics.Event) []*retrytopics.Event {
	var all []*retrytopics.Event
	for _, e := range events {
		all = append(append(all, e.Dead...), e)
	}
	return all
}

func (l *Ledger) entry(e *retrytopics.Event, reason Reason) Entry {
	letter := ""
	if e.Decision.Outcome == policy.OutcomeDeadLettered {
		letter = e.DeadLetterID
	}
	message := e.Failure.Err.Error()
	return Entry{
		Version: Version, Time: header.FormatTime(e.At), Pipeline: l.pipeline, RunID: l.runID,
		Source: e.Record.Source.String(), FeatureID: e.Identity.FeatureID, ContentHash: e.Identity.ContentHash,
		Decision: audit.Escalated, Reason: reason, Code: string(e.Failure.Code), Attempt: e.Record.Attempt,
		Message: message[:min(len(message), audit.MaxMessage)], Letter: letter,
		Care: e.Identity.Care, Sovereignty: e.Identity.Sovereignty, Lineage: e.Identity.Lineage,
	}
}

// chained returns the entry's record value with its place after prev, and the new head.
func (e Entry) chained(prev audit.Head) ([]byte, audit.Head, error) {
	text, err := json.Marshal(e)
	if err != nil {
		return nil, audit.Head{}, fmt.Errorf("entry of the governance ledger for %s: %w", e.Source, err)
	}
	link, err := prev.Next(text)
	if err != nil {
		return nil, audit.Head{}, fmt.Errorf("entry of the governance ledger for %s: %w", e.Source, err)
	}
	value, err := json.Marshal(struct {
		Entry
		Place audit.Place `json:"chain"`
	}{e, audit.Place{Of: audit.Governance, Link: link}})
	return value, audit.Head{Link: link, At: e.Time}, err
}
