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
	Key       []byte             // original bytes; nil when the record has no key
	Value     []byte             // original bytes; nil for a tombstone
	Headers   []kgo.RecordHeader // the producer's own, control headers removed
	Timestamp time.Time          // of the record in the source topic
	Attempt   int                // the number of this attempt, from 1
	Control   *header.Control    // what the control headers said; never nil in a record that an engine made
	Seen      int                // the handler's own note: an attempt that is made again, since it counted for nothing, finds it as it was left
	Limits    *TopicLimits       // of the topics of outputs, in a record that no engine made; nil where they are not known

	engine *Engine // for Judge; nil in a record that no engine made
	task   *task
}

// Identity is what a handler knows about the content of a record. The engine copies it into headers and events, whether
// the attempt succeeds or not.
type Identity struct {
	FeatureID   string // text id of what the record is about
	ContentHash string // "sha256:<hex>"
	BBox        string // "minx,miny,maxx,maxy"
	Marks
}

// Marks are what governs the use of a record's content (S3-8). They travel with the record through every tier, into the
// DLQ, through a replay and onto its outputs.
type Marks struct {
	Lineage     string // where the content comes from
	Care        string // flags by the CARE principles
	Sovereignty string // whose the data are
}

// marksOf returns the marks of the control headers.
func marksOf(c *header.Control) Marks { return Marks{c.Lineage, c.Care, c.Sovereignty} }

// setMarks writes marks into the control headers.
func setMarks(c *header.Control, m Marks) {
	c.Lineage, c.Care, c.Sovereignty = m.Lineage, m.Care, m.Sovereignty
}

// Result is what a handler made of a record.
type Result struct {
	Identity
	// Outputs are produced in the transaction that finishes the record. A record without a topic is refused. The
	// partition is chosen by the key, as Kafka's own clients do it, unless the topic is one of Journal.ShardTopics. All
	// outputs of a record are of its one identity; one that sets header.KeyFeatureID, header.KeyContentHash or header.KeyPart keeps them.
	Outputs []*kgo.Record
	// Failed are parts of the record that failed by themselves, by ascending index: Outputs are those of the others. One that
	// may pass is attempted again, alone; one that will not becomes a dead letter of its own. Needs Parts.
	Failed []FailedPart
	// Parts is how many parts of the record the attempt was about: all of them, or those that Control.Rest names; each has at
	// most one output. 0 when the record is delivered, retried and dead-lettered as a whole. At most MaxParts.
	Parts int
	// Of is how many parts the record has. Only with Parts.
	Of int
	// Close finishes the record with an outcome other than delivered: duplicate, superseded, filtered or skipped.
	// Defaults to delivered.
	Close policy.Outcome
	// Note says in a few words why the record was closed.
	Note string
	// Version orders the events of one key, greater is newer; nil where the source offset does. See Ordering and Dedupe.
	Version *int64
	// Delete says that the event deletes what its key stands for, though its value is not null, as a change event of a data
	// base may. Like a tombstone, which needs no mark, it counts as newer than every event of its key before it.
	Delete bool
}

// Handler does the work of one attempt. It runs outside the transaction, side by side with other keys, one key at a
// time. A nil error finishes the record; an error is classified (classify.Of) and decided upon (Decide). A panic counts
// as a failure of this record alone. The context ends when the partition is taken away or Timing.Handler is over.
//
// A handler that returns an error may still fill Result.Identity; outputs of a failed attempt are not produced.
type Handler func(ctx context.Context, r *Record) (Result, error)

// Event tells what happened to a record, for audit, metrics and logs.
type Event struct {
	Record       *Record
	Identity     Identity
	Decision     policy.Decision
	Failure      *classify.Failure // nil when the attempt succeeded or none was made
	Destination  string            // topic that holds the record or its output now; empty when it was closed
	DeadLetterID string            // id of the dead letter, when there is one: new, or the one that was replayed
	Note         string
	Part         header.Part   // which part of the record it is about; zero for the whole record
	Dead         []*Event      // of the whole record: of each part that became a dead letter of its own by this attempt
	Parts        PartCounts    // of the whole record: what became of its parts
	At           time.Time     // when the attempt ended
	Lateness     time.Duration // due time to start of the attempt; 0 for records read from the source
	Took         time.Duration // duration of the handler

	remaining *header.Remaining // of the whole record: what waits
	value     []byte            // of a part: that of its dead letter
}

// generation gives that of the source topic in which the record first appeared. A header cannot make it a later one than
// today's.
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
