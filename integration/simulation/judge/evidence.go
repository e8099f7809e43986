package judge

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/integration/simulation/plan"
)

// Evidence is the record of a world that has come to rest.
type Evidence struct {
	Plan      plan.Plan
	EventOf   func(*kgo.Record) (plan.Event, error) // the event of a source record; nil uses the event of the plan that the number header names
	Topics    Topics
	Logs      map[string][]*kgo.Record   // by topic: the records that a reader with read_committed sees, by partition and offset
	Committed map[string]map[int32]int64 // by topic and partition: the group's offsets
	Pruned    []*kgo.Record              // source records that retention deleted, in any order
	Deleted   []*kgo.Record              // source records that were there when an operator deleted the topic, in any order
	Epoch     int64                      // number of re-creations of the source, see Stride
	Calls     []Call                     // of the handlers, in the order in which they began
	Rows      map[string]Row             // of the table, by key
	GaveUp    []string                   // engines that ended with an unexpected error
	Held      []Held                     // the largest number of records in each process at a time
	Rest      time.Duration              // from the last fault, or the last event, until all had ended; negative if they did not within the bound
	Bound     time.Duration              // of Rest
	Left      string                     // the records that had not ended by then
	Busy      int64                      // the most requests of one process within a window of BusyWindow
	Repeats   int                        // how often the faults may have repeated an attempt, at most
}

// Stride is added to the offsets of the source for each of its re-creations. It is larger than any offset.
const Stride = 1_000_000

// HeaderAdopted marks records of the journal and of the losses that only separate: the following ones were written after
// a re-created source had been adopted.
const HeaderAdopted = "adopted"

// Digest returns a short hash of all evidence.
func (e Evidence) Digest() string {
	h := fnv.New64a()
	for _, c := range e.Calls {
		fmt.Fprintln(h, c)
	}
	for _, topic := range slices.Sorted(maps.Keys(e.Logs)) {
		for _, r := range e.Logs[topic] {
			fmt.Fprintln(h, r.Topic, r.Partition, r.Offset, r.Timestamp.UnixNano(), r.Key, r.Value, r.Headers)
		}
	}
	return fmt.Sprintf("%016x", h.Sum64())
}

// BusyWindow is the window of Evidence.Busy.
const BusyWindow = 10 * time.Second

// Topics has the names of the pipeline's topics.
type Topics struct {
	Source, Output, Journal, Losses, DLQ, Trail string
	Tiers                                       []string
}

// Call is one call of a handler.
type Call struct {
	Source   string // position at which the record first appeared
	Position string // where it was read
	Event    int
	Attempt  int
	Instance string
	At, Due  time.Time // by the clock of the instance; Due is zero for a record of the source
}

// Row is a row of the table.
type Row struct {
	Source  string // position of the event that was written last
	Content int
}

// Held is the largest number of records in a process, and its limit.
type Held struct {
	Instance string
	Most     int
	Limit    int
}

// Violation is a breach of a promise.
type Violation struct {
	Property Property
	Source   string // position of the record; "" if there is none
	What     string
}

// Property is a promise.
type Property string

// The properties.
const (
	Conservation Property = "conservation" // each record is in exactly one place, unchanged
	ExactlyOnce  Property = "exactly once" // no record is read or takes effect twice
	Order        Property = "order"        // the order that the mode promises
	NeverEarly   Property = "never early"  // no attempt begins before it is due
	Calls        Property = "handler calls"
	Progress     Property = "progress" // everything ends within a bound after the last fault
	Memory       Property = "memory"   // records in a process at a time
	Sink         Property = "sink"     // the table has the last effective event of each key
	Pause        Property = "pause"    // nothing loops without a pause
	Survival     Property = "survival" // no engine ends on its own
)

// Properties lists every property.
func Properties() []Property {
	return []Property{Conservation, ExactlyOnce, Order, NeverEarly, Calls, Progress, Memory, Sink, Pause, Survival}
}

// String returns one line.
func (v Violation) String() string {
	text := string(v.Property) + ": "
	if v.Source != "" {
		text += v.Source + ": "
	}
	return text + v.What
}
