package states

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"
)

// Replays follows all replays of a DLQ. The first call reads the status topic, and each later one what is new. It is
// not safe for concurrent use.
type Replays struct {
	reader   *Reader
	topic    kadm.TopicID // of the status topic that table was read from
	table    *Table       // nil before the first call
	ids      IDList       // of the dead letters of all replays
	members  map[string]*members
	reasons  map[Key]uint32 // why dead letters are closed: indexes in the texts of the table
	failures map[string]*failures
	changes  int // number of state changes so far
	counted  map[string]counted
}

// Replays returns a follower of all replays that has read nothing yet.
func (r *Reader) Replays() *Replays { return &Replays{reader: r} }

// Foreign returns the outcomes that do not count, as of the last [Replays.Read].
func (o *Replays) Foreign() Foreign { return o.table.foreign }

// Taken returns [Table.Taken] as of the last [Replays.Read].
func (o *Replays) Taken(replayID string) (all, duplicates int) { return o.table.Taken(replayID) }

// Unfinished returns the unfinished replays, the last changed first, and the number of finished ones.
func (o *Replays) Unfinished() (underway []Underway, finished int) { return o.table.unfinished() }

// Read reads the new records of the status topic. It starts again if the topic was re-created: such a topic has
// another ID, or ends earlier.
func (o *Replays) Read(ctx context.Context) error {
	r := o.reader
	topic, err := r.Store.StatusTopicID(ctx) // before the spans: the next call notices a topic that is re-created in between
	if err != nil {
		return err
	}
	spans, err := r.Store.StatusSpans(ctx)
	if err != nil {
		return err
	}
	shrunk := func(p int32) bool { return spans[p].End < o.table.Ends[p] }
	if o.table == nil || topic != o.topic || slices.ContainsFunc(slices.Collect(maps.Keys(spans)), shrunk) {
		o.topic, o.table = topic, NewTable(r.DeadLetters.MaxReplays)
		o.ids, o.members, o.reasons, o.failures = IDList{}, map[string]*members{}, map[Key]uint32{}, map[string]*failures{}
		o.counted = map[string]counted{}
	}
	if err := r.follow(ctx, spans, o.table.Ends, o.take); err != nil {
		return fmt.Errorf("states of the dead letters: %w", err)
	}
	return nil
}
