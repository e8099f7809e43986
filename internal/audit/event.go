package audit

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kgo"
)

// MaxMessage is the longest Event.Message that is written, in bytes; a longer one is cut.
const MaxMessage = 1024

// timeLayout is RFC 3339 with exactly three decimals, so that events sort as text.
const timeLayout = "2006-01-02T15:04:05.000Z07:00"

// Event is one decision about one record. Fields that do not apply are zero and omitted from the JSON; time, pipeline,
// source, decision and attempt are always present.
type Event struct {
	Time        time.Time // when it was decided; UTC, milliseconds
	Pipeline    string    // pipeline.id of the configuration
	RunID       string    // the run of the process that decided
	Source      string    // first position of the feature, "topic/partition/offset"
	FeatureID   string    // ID of the GeoJSON feature, "" if it has none
	ContentHash string    // "sha256:<64 hex>", "" if the content could not be read
	Decision    Decision  // what was decided
	Reason      string    // named reason, such as retries_exhausted; for a replay, the operator's words
	Code        string    // classify.Code of the failure
	Class       string    // classify.Class of the failure
	Stage       string    // classify.Stage of the failure
	Attempt     int       // attempts made so far
	Due         time.Time // earliest time of the next attempt; zero if there will be none
	Destination string    // topic that it was written to
	Message     string    // for people; no payload, no stack, at most MaxMessage bytes

	// LastOffset is the last offset of the gap that begins at Source; nil except for an event of [Lost].
	LastOffset *int64

	Part   string // the part of the record at Source, such as 17/230, from 0; "" for the whole record
	Letter string // ID of the dead letter, "" before the record has died
	By     string // the person who acts, or the giver of an order for the pipeline or a batch; "" for a decision about a record

	// What follows is set when a person acts through the replayer.
	User   string // user of the operating system and the machine, such as root@vm; By is the name that this user gave
	Call   string // one call of the command: an operation can have several, such as a plan that is applied again
	Plan   string // "sha256:<64 hex>" of the plan that was applied
	Filter string // JSON of the filter that selected the letters
	Before string // content hash of the letter's bytes before an edit
	After  string // and after it
	Force  string // why the dead letter may overwrite newer data, if it may

	// Place is the event's place in a chain of its partition; zero for events without one (see [Event.Chained]).
	Place Place

	// Key is the Kafka key of the audit record: the key of the feature's own record. It is not part of the JSON. Without
	// it, FeatureID is the key.
	Key []byte
}

// wire is the JSON of an event; the names are a contract.
type wire struct {
	Time        string   `json:"time"`
	Pipeline    string   `json:"pipeline"`
	RunID       string   `json:"run_id,omitempty"`
	Source      string   `json:"source"`
	FeatureID   string   `json:"feature_id,omitempty"`
	ContentHash string   `json:"content_hash,omitempty"`
	Decision    Decision `json:"decision"`
	Reason      string   `json:"reason,omitempty"`
	Code        string   `json:"code,omitempty"`
	Class       string   `json:"class,omitempty"`
	Stage       string   `json:"stage,omitempty"`
	Attempt     int      `json:"attempt"`
	Due         string   `json:"due,omitempty"`
	Destination string   `json:"destination,omitempty"`
	Message     string   `json:"message,omitempty"`
	LastOffset  *int64   `json:"last_offset,omitempty"`

	Part   string `json:"part,omitempty"`
	Letter string `json:"letter,omitempty"`
	By     string `json:"by,omitempty"`
	User   string `json:"user,omitempty"`
	Call   string `json:"call,omitempty"`
	Plan   string `json:"plan,omitempty"`
	Filter string `json:"filter,omitempty"`
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
	Force  string `json:"force_version,omitempty"`
	Chain  *Place `json:"chain,omitempty"`
}

// Record returns the event as a record for a partition of the audit topic: the feature's shard, so that one transaction
// writes to one shard. The error names the missing or unknown field; a broken event is a fault of the caller and is
// never written.
func (e Event) Record(topic string, partition int32) (*kgo.Record, error) {
	if err := e.check(); err != nil {
		return nil, err
	}
	return e.record(topic, partition, e.whole()), nil
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
func (e Event) MarshalJSON() ([]byte, error) { return e.whole().JSON(), nil }

// whole returns the event with its place in the chain, if it has one.
func (e *Event) whole() *Object {
	o := e.object()
	if e.Place != (Place{}) {
		o.Place(placeMember, e.Place)
	}
	return o
}

// object writes the members of [wire], in its order, without the link.
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
	o.SomeText("message", cut(e.Message, MaxMessage))
	if e.LastOffset != nil {
		o.Number("last_offset", *e.LastOffset)
	}
	o.SomeText("part", e.Part)
	o.SomeText("letter", e.Letter)
	o.SomeText("by", e.By)
	o.SomeText("user", e.User)
	o.SomeText("call", e.Call)
	o.SomeText("plan", e.Plan)
	o.SomeText("filter", e.Filter)
	o.SomeText("before", e.Before)
	o.SomeText("after", e.After)
	o.SomeText("force_version", e.Force)
	return o
}

// Parse parses the value of an audit record. It ignores unknown fields, which a later version may add, and refuses an
// unknown decision. It does not set Key.
func Parse(value []byte) (Event, error) {
	if len(bytes.TrimSpace(value)) == 0 {
		return Event{}, errors.New("audit event: empty value")
	}
	var w wire
	if err := json.Unmarshal(value, &w); err != nil {
		return Event{}, fmt.Errorf("audit event: %w", err)
	}
	if err := w.Decision.check(); err != nil {
		return Event{}, err
	}
	at, err := time.Parse(time.RFC3339, w.Time)
	if err != nil {
		return Event{}, fmt.Errorf("audit event: time: %w", err)
	}
	due, err := parseTime(w.Due)
	if err != nil {
		return Event{}, fmt.Errorf("audit event: due: %w", err)
	}
	e := Event{
		Time: at.UTC(), Pipeline: w.Pipeline, RunID: w.RunID, Source: w.Source,
		FeatureID: w.FeatureID, ContentHash: w.ContentHash, Decision: w.Decision,
		Reason: w.Reason, Code: w.Code, Class: w.Class, Stage: w.Stage, Attempt: w.Attempt,
		Due: due, Destination: w.Destination, Message: w.Message,
		LastOffset: w.LastOffset, Part: w.Part, Letter: w.Letter, By: w.By, User: w.User, Call: w.Call, Plan: w.Plan, Filter: w.Filter, Before: w.Before, After: w.After, Force: w.Force,
	}
	if w.Chain != nil {
		e.Place = *w.Chain
	}
	return e, nil
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

func parseTime(s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, s)
	return t.UTC(), err
}

// cut shortens s to at most n bytes without breaking a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
