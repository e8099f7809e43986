package retrytopics

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/fit"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// Record is one attempt at one record of the source topic. The handler must not change its bytes.
type Record struct {
	Position  header.Position    // where this attempt was read: in the source topic or in a tier
	Source    header.Position    // where the record first appeared; for a replayed dead letter, before its first death
	Key       []byte             // original bytes; nil if the record has no key
	Value     []byte             // original bytes; nil for a tombstone
	Headers   []kgo.RecordHeader // the producer's own, without control headers
	Timestamp time.Time          // of the record in the source topic
	Attempt   int                // number of this attempt, from 1
	Control   *header.Control    // the parsed control headers; never nil in a record that an engine created
	Seen      int                // the handler's own note: a repeated attempt that did not count finds it unchanged
	Context   RecordContext      // answers Judge, Version, Fits and FailsWhole; nil in a record that no engine created
	Limits    *TopicLimits       // of the topics of outputs, in a record that no engine made; nil if they are unknown
}

// RecordContext is what an engine knows about a record: the state of its key, the limits of topics and the policy. Each
// method is described at the method of Record with its name.
type RecordContext interface {
	Judge(contentHash string, version *int64) policy.Outcome
	Version(number *int64, deletes bool) (header.Version, bool)
	Fits(outputs ...*kgo.Record) error
	FailsWhole(failed []FailedPart) bool
}

// Identity identifies the content of a record. The engine copies it into headers and events, whether the attempt
// succeeds or not.
type Identity struct {
	FeatureID   string // text ID of the feature
	ContentHash string // "sha256:<hex>"
	BBox        string // "minx,miny,maxx,maxy"
	Marks
}

// Marks govern the use of a record's content (S3-8). They travel with the record through every tier, into the DLQ,
// through a replay and onto its outputs.
type Marks struct {
	Lineage     string // origin of the content
	Care        string // flags by the CARE principles
	Sovereignty string // owner of the data
}

// Result is a handler's answer for a record.
type Result struct {
	Identity
	// Outputs are produced in the transaction that finishes the record. An output without a topic is refused. The
	// partition is chosen by the key, as Kafka's own clients do, unless Journal.KeepPartition has the topic. All outputs
	// of a record share its identity; an output that sets header.KeyFeatureID, header.KeyContentHash or header.KeyPart
	// keeps them.
	Outputs []*kgo.Record
	// Failed has the parts of the record that failed, by ascending index; Outputs are those of the other parts. A
	// transient failure is retried for that part alone; a permanent one becomes a dead letter of its own. Needs
	// Parts.
	Failed []FailedPart
	// Parts is the number of parts in this attempt: all of them, or those in Control.Remaining. Each has at most one
	// output. 0 if the record is delivered, retried and dead-lettered as a whole. At most header.MaxParts.
	Parts int
	// Of is the number of parts of the record. Only with Parts.
	Of int
	// Close finishes the record with an outcome other than delivered: duplicate, superseded, filtered or skipped.
	// Defaults to delivered.
	Close policy.Outcome
	// Note is a short reason for closing the record.
	Note string
	// Version orders the events of one key, greater is newer; nil if the source offset does. See Ordering and Dedupe.
	Version *int64
	// Delete means that the event deletes the object of its key although its value is not null, such as a change
	// event of a database. Like a tombstone, which needs no mark, it is newer than every earlier event of its key.
	Delete bool
}

// Handler does the work of one attempt. It runs outside the transaction, concurrently with other keys, one record per
// key at a time. A nil error finishes the record; any other error is classified (classify.Of) and decided upon
// (policy.Decide). A panic counts as a failure of this record alone. The context ends when the partition is revoked or
// Timing.Handler is over.
//
// A handler that returns an error may still fill Result.Identity; outputs of a failed attempt are not produced.
type Handler func(ctx context.Context, r *Record) (Result, error)

// Event is what happened to a record, for audit, metrics and logs.
type Event struct {
	Record       *Record
	Identity     Identity
	Decision     policy.Decision
	Failure      *classify.Failure // nil if the attempt succeeded or none was made
	Destination  string            // topic that now contains the record or its output; empty if it was closed
	DeadLetterID string            // ID of the dead letter, if there is one: new, or the replayed one
	Note         string
	Part         header.Part   // the part of the record that the event is about; zero for the whole record
	Dead         []*Event      // of the whole record: each part that this attempt made a dead letter of its own
	Parts        PartCounts    // of the whole record: the outcomes of its parts
	At           time.Time     // when the attempt ended
	Lateness     time.Duration // due time to start of the attempt; 0 for records read from the source
	Took         time.Duration // duration of the handler
}

// Judge reports whether an event with this content and version still has to take effect. It returns "" if it has,
// OutcomeDuplicate if it equals the last effective event of its key, OutcomeSuperseded if a newer event took effect.
// version is nil if the source offset is the version. A handler may call Judge early to save work; the engine judges
// again before the commit.
func (r *Record) Judge(contentHash string, version *int64) policy.Outcome {
	if r.Context == nil {
		return ""
	}
	return r.Context.Judge(contentHash, version)
}

// Version returns the version with which the event takes effect. A handler that writes outside Kafka must guard its
// write by it: such a write is not undone when the transaction aborts, and may come late from an instance that has lost
// the partition. number and deletes are the later Result.Version and Result.Delete. Version is the same in each attempt
// until a newer event of the key takes effect. ok is false if the event has none and must not be written.
func (r *Record) Version(number *int64, deletes bool) (v header.Version, ok bool) {
	if r.Context == nil {
		return header.Version{}, false
	}
	return r.Context.Version(number, deletes)
}

// Fits returns an error if a topic does not accept its output, as far as the cluster has reported the topic's limits.
// Its code is output_too_large, or null_key for an output without a key to a compacted topic. A handler with effects
// of its own calls Fits before them: the engine refuses an output that does not fit, and the record becomes a dead
// letter.
func (r *Record) Fits(outputs ...*kgo.Record) error {
	switch {
	case r.Context != nil:
		return r.Context.Fits(outputs...)
	case r.Limits != nil:
		return fit.Outputs(r.Limits.limits, outputs)
	}
	return nil
}

// FailsWhole reports whether a record with these failed parts would be one dead letter, with nothing delivered, because
// too many of them would be dead letters of their own. A handler with effects of its own calls it before them, as with
// Fits.
func (r *Record) FailsWhole(failed []FailedPart) bool {
	return r.Context != nil && len(failed) > 0 && r.Context.FailsWhole(failed)
}
