package retrytopics

import (
	"errors"
	"fmt"
	"strings"

	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/memory"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/topics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/statetopic"
	"github.com/twmb/franz-go/pkg/kgo"
)

// ErrMemory is wrapped when the engine's memory does not belong to the current topics and group: a topic was deleted and
// re-created, or the group was renamed. Going on would take new events for old ones, or old ones for new. Engine.Adopt
// tells what must be given up, and gives it up.
var ErrMemory = errors.New("the memory does not belong to the topics as they are now")

// ErrAlienMemory is wrapped when the state topic or the ledger has a record that the engine cannot have written. No
// later session can read it either.
var ErrAlienMemory = errors.New("a record of the memory cannot be read: see docs/operations.md, \"A memory that cannot be read\"")

// errNewerMemory is wrapped when a record of the memory has a later format.
var errNewerMemory = errors.New("a newer version of the engine wrote the memory, or other software did (docs/operations.md, \"A memory that cannot be read\")")

// memoryError is the ErrMemory of a partition.
type memoryError struct {
	partition  int32
	mismatches []memory.Mismatch
}

func (e *memoryError) Error() string {
	text := make([]string, len(e.mismatches))
	for i, m := range mismatchesOf(e.mismatches) {
		text[i] = m.String()
	}
	return fmt.Sprintf("%v (partition %d): %s. Nothing is consumed. `consumer topics adopt -c FILE` says what adopting it means, and does it with --execute",
		ErrMemory, e.partition, strings.Join(text, "; "))
}

func (e *memoryError) Unwrap() error { return ErrMemory }

// bindingOf returns the topics and the group that a partition's memory must belong to.
func bindingOf(in *instance, l *topics.Layout) *memory.Binding {
	b := &memory.Binding{
		Group: in.cfg.Group, Pipeline: in.cfg.Origin.Pipeline, Source: in.cfg.Source, State: in.cfg.Ordering.StateTopic, Scale: scaleOf(&in.cfg.Ordering), IDs: l.IDs,
	}
	if in.cfg.Dedupe.On() {
		b.Ledger = in.cfg.Dedupe.LedgerTopic
	}
	return b
}

// checkpointRecords returns the records of the checkpoints.
func checkpointRecords(in *instance, checkpoints map[*partitionState]*statetopic.Checkpoint) ([]*kgo.Record, error) {
	records := make([]*kgo.Record, 0, len(checkpoints))
	for state, cp := range checkpoints {
		r, err := cp.Record(in.cfg.Ordering.StateTopic, state.partition)
		if err != nil {
			return nil, err
		}
		records = append(records, r)
	}
	return records, nil
}
