package transaction

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/instance"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/kafka"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/memory"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/offsets"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/partition"
	"github.com/switchback-geo/switchback/pkg/retrytopics/statetopic"
)

// Content is the content of one transaction: the results of finished tasks, and the positions to commit with them.
type Content struct {
	Tasks       []*partition.Task // in the order in which they finished
	Changes     map[*partition.State][]*memory.Change
	Marks       map[*partition.Partition]offsets.Commit
	Heads       map[*partition.State][]byte // new heads of hash chains
	Losses      []retrytopics.Loss          // that the positions pass over
	Checkpoints map[*partition.State]*statetopic.Checkpoint
	Removed     map[*partition.State]int // number of versions removed from the state topic
}

// New returns the empty content of a transaction.
func New() *Content {
	return &Content{
		Changes: map[*partition.State][]*memory.Change{}, Marks: map[*partition.Partition]offsets.Commit{},
		Heads: map[*partition.State][]byte{}, Removed: map[*partition.State]int{},
	}
}

// Outputs returns what the tasks produce.
func (st *Content) Outputs() []*kgo.Record {
	n := 0
	for _, t := range st.Tasks {
		n += len(t.Outputs)
	}
	all := make([]*kgo.Record, 0, n)
	for _, t := range st.Tasks {
		all = append(all, t.Outputs...)
	}
	return all
}

// Owner returns the task of an output; nil for the engine's own records.
func (st *Content) Owner(r *kgo.Record) *partition.Task {
	for _, t := range st.Tasks {
		if slices.Contains(t.Outputs, r) {
			return t
		}
	}
	return nil
}

// Memories returns the records for the state topic and the ledger: the states and versions of keys that the
// transaction changes, and per partition the checkpoint and one packed record of the events that took effect.
func (st *Content) Memories(in *instance.Instance) ([]*kgo.Record, error) {
	var records []*kgo.Record
	for state, changes := range st.Changes {
		more, err := state.Memory.Encode(changes)
		if err != nil {
			return nil, err
		}
		records = append(records, more...)
	}
	for state := range st.Checkpoints {
		more, of := state.Memory.EncodeRemovals()
		records, st.Removed[state] = append(records, more...), of
	}
	checkpoints, err := partition.CheckpointRecords(in, st.Checkpoints)
	return append(records, checkpoints...), err
}

// CommitPoints returns the marks in the form in which they are committed.
func (st *Content) CommitPoints() []kafka.CommitPoint {
	points := make([]kafka.CommitPoint, 0, len(st.Marks))
	for l, m := range st.Marks {
		points = append(points, l.CommitPoint(m))
	}
	return points
}

// LossRecords returns the journal's records about the losses.
func (st *Content) LossRecords(ctx context.Context, in *instance.Instance) (records []*kgo.Record) {
	if in.Cfg.Journal.Loss == nil {
		return nil
	}
	for _, l := range st.Losses {
		more, err := in.Cfg.Journal.Loss(l)
		if err != nil {
			in.Cfg.Logger.ErrorContext(ctx, "journal failed; the loss is not recorded", "topic", l.Topic, "partition", l.Partition, "error", err)
		}
		records = append(records, more...)
	}
	return records
}
