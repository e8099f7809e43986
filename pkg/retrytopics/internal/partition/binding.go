package partition

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/instance"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/memory"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/topics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/statetopic"
)

// ErrMemory is wrapped when the engine's memory does not belong to the current topics and group: a topic was deleted
// and re-created, or the group was renamed. Continuing would treat new events as old, or old ones as new.
// Engine.PlanAdoption lists what must be given up; Engine.Adopt gives it up.
var ErrMemory = errors.New("the memory does not belong to the topics as they are now")

// ErrAlienMemory is wrapped when the state topic or the ledger has a record that the engine cannot have written. No
// later session can read it either.
var ErrAlienMemory = errors.New("a record of the memory cannot be read: see docs/recreated-topics.md, \"A memory that cannot be read\"")

// errNewerMemory is wrapped when a record of the memory has a later format.
var errNewerMemory = errors.New("a newer version of the engine wrote the memory, or other software did (docs/recreated-topics.md, \"A memory that cannot be read\")")

// MismatchError is the ErrMemory of a partition.
type MismatchError struct {
	Partition  int32
	Mismatches []retrytopics.Mismatch
}

func (e *MismatchError) Error() string {
	text := make([]string, len(e.Mismatches))
	for i, m := range e.Mismatches {
		text[i] = m.String()
	}
	return fmt.Sprintf("%v (partition %d): %s. Nothing is consumed. `consumer topics adopt -c FILE` shows what adopting it means, and adopts it with --execute",
		ErrMemory, e.Partition, strings.Join(text, "; "))
}

func (e *MismatchError) Unwrap() error { return ErrMemory }

// BindingOf returns the topics and the group that a partition's memory must belong to.
func BindingOf(in *instance.Instance, l *topics.Layout) *memory.Binding {
	b := &memory.Binding{
		Group: in.Cfg.Group, Pipeline: in.Cfg.Origin.Pipeline, Source: in.Cfg.Source, State: in.Cfg.Ordering.StateTopic, Scale: ScaleOf(&in.Cfg.Ordering), IDs: l.IDs,
	}
	if in.Cfg.Dedupe.On() {
		b.Ledger = in.Cfg.Dedupe.LedgerTopic
	}
	return b
}

// CheckpointRecords returns the records of the checkpoints.
func CheckpointRecords(in *instance.Instance, checkpoints map[*State]*statetopic.Checkpoint) ([]*kgo.Record, error) {
	records := make([]*kgo.Record, 0, len(checkpoints))
	for state, cp := range checkpoints {
		r, err := cp.Record(in.Cfg.Ordering.StateTopic, state.Partition)
		if err != nil {
			return nil, err
		}
		records = append(records, r)
	}
	return records, nil
}

// NoteShared adds the retry topics of a partition in which records of another pipeline were found. A topic stays in the
// list: records before the committed position may still wait for the other pipeline.
func NoteShared(cp *statetopic.Checkpoint, partitions map[ID]*Partition, state *State) {
	for tp, l := range partitions {
		if l.State == state && l.Shared && !slices.Contains(cp.Shared, tp.Topic) && len(cp.Shared) < statetopic.MaxPositions {
			cp.Shared = append(slices.Clone(cp.Shared), tp.Topic)
		}
	}
	slices.Sort(cp.Shared)
}
