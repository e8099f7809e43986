package retrytopics

import (
	"errors"
	"fmt"
	"strings"

	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/memory"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/topics"
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

// MismatchKind is a kind of mismatch between the memory and the topics. It is a closed list.
type MismatchKind string

// The kinds of mismatches.
const (
	MismatchSource MismatchKind = MismatchKind(memory.MismatchSource) // the source topic was re-created
	MismatchTier   MismatchKind = MismatchKind(memory.MismatchTier)   // a tier was re-created: its waiting records are gone
	MismatchLedger MismatchKind = MismatchKind(memory.MismatchLedger) // the ledger was re-created: duplicates are not recognized
	MismatchState  MismatchKind = MismatchKind(memory.MismatchState)  // the state topic was re-created, or has lost its checkpoint
	MismatchGroup  MismatchKind = MismatchKind(memory.MismatchGroup)  // the memory is another group's
	// MismatchUnbound is a memory without a checkpoint while the group has no commits, so that nothing says what it
	// belongs to.
	MismatchUnbound MismatchKind = MismatchKind(memory.MismatchUnbound)
)

// Mismatch is one mismatch of a memory.
type Mismatch struct {
	Kind       MismatchKind `json:"kind"`
	Topic      string       `json:"topic"`      // the re-created one; for a group, the state topic
	Remembered string       `json:"remembered"` // ID of the topic, or name of the group
	Now        string       `json:"now"`
}

// String describes the mismatch.
func (m Mismatch) String() string {
	switch m.Kind {
	case MismatchState:
		return fmt.Sprintf("state topic %s has lost the checkpoint that the commits of group %s speak of: it was deleted and re-created, or cut", m.Topic, m.Now)
	case MismatchGroup:
		return fmt.Sprintf("state topic %s is the memory of group %s, not of group %s", m.Topic, m.Remembered, m.Now)
	case MismatchUnbound:
		return fmt.Sprintf("the memory beside %s has no checkpoint that says to which topic it belongs, and group %s has no commits: "+
			"they expired, or the topic was deleted and re-created. If they expired, set them (kafka-consumer-groups.sh --reset-offsets) and start again",
			m.Topic, m.Now)
	case MismatchSource, MismatchTier, MismatchLedger:
	}
	return fmt.Sprintf("%s topic %s was deleted and re-created: the memory belongs to topic id %s, the topic now has id %s", m.Kind, m.Topic, m.Remembered, m.Now)
}

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

// mismatchesOf returns the public form of mismatches.
func mismatchesOf(all []memory.Mismatch) []Mismatch {
	public := make([]Mismatch, 0, len(all))
	for _, m := range all {
		public = append(public, Mismatch{MismatchKind(m.Kind), m.Topic, m.Remembered, m.Now})
	}
	return public
}

// binding returns the topics and the group that a partition's memory must belong to.
func (e *Engine) binding(l *topics.Layout) *memory.Binding {
	b := &memory.Binding{
		Group: e.cfg.Group, Pipeline: e.cfg.Origin.Pipeline, Source: e.cfg.Source, State: e.cfg.Ordering.StateTopic, Scale: scaleOf(&e.cfg.Ordering), IDs: l.IDs,
	}
	if e.cfg.Dedupe.On() {
		b.Ledger = e.cfg.Dedupe.LedgerTopic
	}
	return b
}
