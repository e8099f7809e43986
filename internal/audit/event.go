package audit

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// MaxMessage is the longest Event.Message that is written, in bytes; a longer one is cut.
const MaxMessage = 1024

// timeLayout is RFC 3339 with exactly three decimals, so that times sort as text.
const timeLayout = "2006-01-02T15:04:05.000Z07:00"

// Event is one decision about one record. Fields that do not apply are zero and omitted from the JSON; time, pipeline,
// source, decision and attempt are always present. The names of the JSON members are a contract.
type Event struct {
	Time        time.Time `json:"time"`                  // when it was decided; UTC, milliseconds
	Pipeline    string    `json:"pipeline"`              // pipeline.id of the configuration
	RunID       string    `json:"run_id,omitzero"`       // the run of the process that decided
	Source      string    `json:"source"`                // first position of the feature, "topic/partition/offset"
	FeatureID   string    `json:"feature_id,omitzero"`   // ID of the GeoJSON feature, "" if it has none
	ContentHash string    `json:"content_hash,omitzero"` // "sha256:<64 hex>", "" if the content could not be read
	Decision    Decision  `json:"decision"`              // what was decided
	Reason      string    `json:"reason,omitzero"`       // named reason, such as retries_exhausted; for a replay, the operator's reason
	Code        string    `json:"code,omitzero"`         // classify.Code of the failure
	Class       string    `json:"class,omitzero"`        // classify.Class of the failure
	Stage       string    `json:"stage,omitzero"`        // classify.Stage of the failure
	Attempt     int       `json:"attempt"`               // attempts made so far
	Due         time.Time `json:"due,omitzero"`          // earliest time of the next attempt; zero if there will be none
	Destination string    `json:"destination,omitzero"`  // topic that it was written to
	Message     string    `json:"message,omitzero"`      // human-readable; no payload, no stack, at most MaxMessage bytes

	// LastOffset is the last offset of the gap that begins at Source; nil except for an event of [Lost].
	LastOffset *int64 `json:"last_offset,omitzero"`

	Part       string `json:"part,omitzero"`        // the part of the record at Source, such as 17/230, from 0; "" for the whole record
	DeadLetter string `json:"dead_letter,omitzero"` // ID of the dead letter; "" if the record is not one
	By         string `json:"by,omitzero"`          // the person who acts, or the person or gate that ordered something for the pipeline or a batch; "" for a decision about a record

	// The following fields are set when a person acts through the replayer.
	User   string `json:"user,omitzero"`          // user of the operating system and the machine, such as root@vm; By is the name that this user gave
	Call   string `json:"call,omitzero"`          // ID of one call of the command: an operation can have several, such as a plan that is applied again
	Plan   string `json:"plan,omitzero"`          // "sha256:<64 hex>" of the plan that was applied
	Filter string `json:"filter,omitzero"`        // JSON of the filter that selected the dead letters
	Before string `json:"before,omitzero"`        // content hash of the dead letter's bytes before an edit
	After  string `json:"after,omitzero"`         // and after it
	Force  string `json:"force_version,omitzero"` // why the dead letter may overwrite newer data, if it may

	// The following fields are set in an entry of the governance ledger.
	LedgerVersion int    `json:"ledger_version,omitzero"` // of the ledger's format
	Care          string `json:"care,omitzero"`           // the marks of the record
	Sovereignty   string `json:"sovereignty,omitzero"`
	Lineage       string `json:"lineage,omitzero"`

	// Place is the event's place in a chain of its partition; zero for events without one (see [Event.Chained]).
	Place Place `json:"chain,omitzero"`

	// Key is the Kafka key of the audit record: the key of the feature's own record. It is not part of the JSON. Without
	// it, FeatureID is the key.
	Key []byte `json:"-"`
}

// Record returns the event as a record for a partition of the audit topic: that of the feature's source, so that one
// transaction writes to one partition. The error names the missing or unknown field; an invalid event is a bug of the
// caller and is never written.
func (e Event) Record(topic string, partition int32) (*kgo.Record, error) {
	if err := e.check(); err != nil {
		return nil, err
	}
	return e.record(topic, partition, e.withPlace()), nil
}

// check returns the fault of an event that must not be written.
func (e *Event) check() error {
	if err := e.Decision.check(); err != nil {
		return err
	}
	if e.Time.IsZero() {
		return fmt.Errorf("audit event %q of %s has no time", e.Decision, e.Source)
	}
	return nil
}

func (e *Event) record(topic string, partition int32, value *Object) *kgo.Record {
	key := e.Key
	if key == nil && e.FeatureID != "" {
		key = []byte(e.FeatureID)
	}
	return &kgo.Record{Topic: topic, Partition: partition, Key: key, Value: value.JSON()}
}

// MarshalJSON returns the event as it is written to the topic.
func (e Event) MarshalJSON() ([]byte, error) { return e.withPlace().JSON(), nil }

// withPlace returns the event with its place in the chain, if it has one.
func (e *Event) withPlace() *Object {
	o := e.object()
	if e.Place != (Place{}) {
		o.Place(placeMember, e.Place)
	}
	return o
}

// object writes the members of the event, without its place in a chain. It is faster than the JSON package, and a replay
// writes an event for each dead letter.
func (e *Event) object() *Object {
	o := new(Object)
	o.Text("time", e.Time.UTC().Format(timeLayout))
	o.Text("pipeline", e.Pipeline)
	o.SomeText("run_id", e.RunID)
	o.Text("source", e.Source)
	o.SomeText("feature_id", e.FeatureID)
	o.SomeText("content_hash", e.ContentHash)
	o.Text("decision", string(e.Decision))
	o.SomeText("reason", e.Reason)
	o.SomeText("code", e.Code)
	o.SomeText("class", e.Class)
	o.SomeText("stage", e.Stage)
	o.Number("attempt", int64(e.Attempt))
	o.SomeText("due", formatTime(e.Due))
	o.SomeText("destination", e.Destination)
	o.SomeText("message", header.Cut(e.Message, MaxMessage))
	if e.LastOffset != nil {
		o.Number("last_offset", *e.LastOffset)
	}
	o.SomeText("part", e.Part)
	o.SomeText("dead_letter", e.DeadLetter)
	o.SomeText("by", e.By)
	o.SomeText("user", e.User)
	o.SomeText("call", e.Call)
	o.SomeText("plan", e.Plan)
	o.SomeText("filter", e.Filter)
	o.SomeText("before", e.Before)
	o.SomeText("after", e.After)
	o.SomeText("force_version", e.Force)
	if e.LedgerVersion != 0 {
		o.Number("ledger_version", int64(e.LedgerVersion))
	}
	o.SomeText("care", e.Care)
	o.SomeText("sovereignty", e.Sovereignty)
	o.SomeText("lineage", e.Lineage)
	return o
}

// Parse parses the value of an audit record. It ignores unknown fields, which a later version may add, and refuses an
// unknown decision. It does not set Key.
func Parse(value []byte) (Event, error) {
	type wire Event // without the method that encodes it
	var e Event
	if err := json.Unmarshal(value, (*wire)(&e), jsontext.AllowInvalidUTF8(true)); err != nil {
		return Event{}, fmt.Errorf("audit event: %w", err)
	}
	e.Time, e.Due = e.Time.UTC(), e.Due.UTC()
	return e, e.check()
}

// Who names the person and the user of the operating system: "anna (root@vm)", or "root@vm" if both are the same.
func (e *Event) Who() string { return Who(e.By, e.User) }

// Who names a person and the user of the operating system, see [Event.Who].
func Who(by, user string) string {
	if name, _, _ := strings.Cut(user, "@"); user == "" || by == "" || name == by {
		return cmp.Or(user, by)
	}
	return by + " (" + user + ")"
}

func formatTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(timeLayout)
}
