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

// Reason is the reason of an entry.
type Reason string

// The reasons.
const (
	ReasonDenied  Reason = "governance_denied" // a rule forbids to process the record: it is in the DLQ, escalated
	ReasonRetries Reason = "retry_threshold"   // an attempt with the number escalate_after_attempts failed; retries continue
)

// Ledger creates the entries of a pipeline.
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

// Extend returns the entries for the events of one partition, each linked to the previous one. The engine's hash chain
// calls it. The head is an audit.Head as JSON.
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
		record, next, err := l.entry(e, reason).Chained(audit.Governance, last, l.topic, partition)
		if err != nil {
			return nil, nil, fmt.Errorf("entry of the governance ledger for %s: %w", e.Record.Source, err)
		}
		records, last = append(records, record), next
	}
	if records == nil {
		return nil, head, nil
	}
	next, err := json.Marshal(last)
	return records, next, err
}

// withParts inserts the parts of a record that have their own dead letters before it.
func withParts(events []*retrytopics.Event) []*retrytopics.Event {
	var all []*retrytopics.Event
	for _, e := range events {
		all = append(append(all, e.Dead...), e)
	}
	return all
}

// entry returns the entry of an event. Its decision is audit.Escalated.
func (l *Ledger) entry(e *retrytopics.Event, reason Reason) audit.Event {
	letter := ""
	if e.Decision.Outcome == policy.OutcomeDeadLettered {
		letter = e.DeadLetterID
	}
	return audit.Event{
		LedgerVersion: Version, Time: header.RoundUp(e.At), Pipeline: l.pipeline, RunID: l.runID,
		Source: e.Record.Source.String(), FeatureID: e.Identity.FeatureID, ContentHash: e.Identity.ContentHash,
		Decision: audit.Escalated, Reason: string(reason), Code: string(e.Failure.Code), Attempt: e.Record.Attempt,
		Message: e.Failure.Err.Error(), DeadLetter: letter, Key: e.Record.Key,
		Care: e.Identity.Care, Sovereignty: e.Identity.Sovereignty, Lineage: e.Identity.Lineage,
	}
}

// Status is the governance status of one attempt, for telemetry (S3-7). A circuit breaker that is open adds the
// status "blocked": no request is sent then (S3-5).
type Status string

// The statuses.
const (
	StatusUngoverned Status = "ungoverned" // no marks are read, or the record has none
	StatusAllowed    Status = "allowed"    // the record has marks, and no rule forbids them
	StatusEscalated  Status = "escalated"  // too many retries: the ledger has an entry; retries continue
	StatusDenied     Status = "denied"     // a rule forbids it
)

// Status returns the status of an event.
func (l *Ledger) Status(e *retrytopics.Event) Status {
	switch reason, _ := l.Reason(e); {
	case reason == ReasonDenied:
		return StatusDenied
	case reason == ReasonRetries:
		return StatusEscalated
	case e.Identity.Marks == (retrytopics.Marks{}):
		return StatusUngoverned
	default:
		return StatusAllowed
	}
}
