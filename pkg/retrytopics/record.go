package retrytopics

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
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
	Control   *header.Control    // the parsed control headers; never nil in a record that an engine made
	Seen      int                // the handler's own note: a repeated attempt that did not count finds it unchanged
	Limits    *TopicLimits       // of the topics of outputs, in a record that no engine made; nil if they are unknown

	engine *Engine // for Judge; nil in a record that no engine made
	task   *task
}

// Identity is what a handler knows about the content of a record. The engine copies it into headers and events, whether
// the attempt succeeds or not.
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

// marksOf returns the marks of the control headers.
func marksOf(c *header.Control) Marks { return Marks{c.Lineage, c.Care, c.Sovereignty} }

// setMarks writes marks into the control headers.
func setMarks(c *header.Control, m Marks) {
	c.Lineage, c.Care, c.Sovereignty = m.Lineage, m.Care, m.Sovereignty
}

// Result is a handler's answer for a record.
type Result struct {
	Identity
	// Outputs are produced in the transaction that finishes the record. An output without a topic is refused. The
	// partition is chosen by the key, as Kafka's own clients do, unless Journal.KeepPartition has the topic. All outputs
	// of a record share its identity; an output that sets header.KeyFeatureID, header.KeyContentHash or header.KeyPart
	// keeps them.
	Outputs []*kgo.Record
	// Failed are the parts of the record that failed by themselves, by ascending index; Outputs are those of the other
	// parts. A transient failure is retried for that part alone; a permanent one becomes a dead letter of its own. Needs
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
	// Delete means that the event deletes what its key stands for although its value is not null, such as a change event
	// of a database. Like a tombstone, which needs no mark, it is newer than every earlier event of its key.
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
	Destination  string            // topic that holds the record or its output now; empty if it was closed
	DeadLetterID string            // ID of the dead letter, if there is one: new, or the replayed one
	Note         string
	Part         header.Part   // the part of the record it is about; zero for the whole record
	Dead         []*Event      // of the whole record: each part that this attempt made a dead letter of its own
	Parts        PartCounts    // of the whole record: the outcomes of its parts
	At           time.Time     // when the attempt ended
	Lateness     time.Duration // due time to start of the attempt; 0 for records read from the source
	Took         time.Duration // duration of the handler

	remaining *header.Remaining // of the whole record: the waiting parts
	value     []byte            // of a part: the value of its dead letter
}

// generation returns the generation of the source topic in which the record first appeared. A header cannot claim a
// later one than the current.
func (r *Record) generation() int {
	if r.task == nil {
		return 0
	}
	today := r.task.from.state.generation
	if r.Control.HasSource {
		return min(r.Control.Generation, today)
	}
	return today
}
