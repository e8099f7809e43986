package retrytopics

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/offsets"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/topics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/statetopic"
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
	MismatchSource MismatchKind = "source" // the source topic was re-created
	MismatchTier   MismatchKind = "tier"   // a tier was re-created: its waiting records are gone
	MismatchLedger MismatchKind = "ledger" // the ledger was re-created: duplicates are not recognized
	MismatchState  MismatchKind = "state"  // the state topic was re-created, or has lost its checkpoint
	MismatchGroup  MismatchKind = "group"  // the memory is another group's
	// MismatchUnbound is a memory without a checkpoint while the group has no commits, so that nothing says what it
	// belongs to.
	MismatchUnbound MismatchKind = "unbound"
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
	mismatches []Mismatch
}

func (e *memoryError) Error() string {
	text := make([]string, len(e.mismatches))
	for i, m := range e.mismatches {
		text[i] = m.String()
	}
	return fmt.Sprintf("%v (partition %d): %s. Nothing is consumed. `consumer topics adopt -c FILE` says what adopting it means, and does it with --execute",
		ErrMemory, e.partition, strings.Join(text, "; "))
}

func (e *memoryError) Unwrap() error { return ErrMemory }

// expectedTopics are the topics and the group that a partition's memory must belong to.
type expectedTopics struct {
	group    string
	pipeline string // ID in the control headers
	source   string
	state    string           // topic
	ledger   string           // topic; "" without deduplication
	scale    statetopic.Scale // of versions
	ids      map[string]statetopic.TopicID
}

func (e *Engine) expectedTopics(l *topics.Layout) expectedTopics {
	now := expectedTopics{group: e.cfg.Group, pipeline: e.cfg.Origin.Pipeline, source: e.cfg.Source, state: e.cfg.Ordering.StateTopic, scale: e.cfg.scale(), ids: l.IDs}
	if e.cfg.Dedupe.on() {
		now.ledger = e.cfg.Dedupe.LedgerTopic
	}
	return now
}

// evidence is what is known of a partition's memory.
type evidence struct {
	checkpoint *statetopic.Checkpoint // nil if there is none
	committed  bool                   // the group has a commit of the source topic
	sealed     bool                   // a commit was made with a checkpoint
	remembers  bool                   // state or ledger have keys
}

// mismatches returns all mismatches of a partition's memory. It is pure.
func (now expectedTopics) mismatches(known evidence) []Mismatch {
	cp := known.checkpoint
	switch {
	case cp == nil && known.sealed:
		return []Mismatch{{MismatchState, now.state, "", now.group}}
	case cp == nil && known.remembers && !known.committed:
		return []Mismatch{{MismatchUnbound, now.source, "", now.group}}
	case cp == nil:
		return nil
	}
	var all []Mismatch
	if cp.Group != now.group {
		all = append(all, Mismatch{MismatchGroup, now.state, cp.Group, now.group})
	}
	for _, topic := range slices.Sorted(maps.Keys(cp.Positions)) {
		id, known := now.ids[topic]
		if !known || !cp.Positions[topic].ID.Differs(id) {
			continue
		}
		kind := MismatchTier
		if topic == now.source {
			kind = MismatchSource
		}
		all = append(all, Mismatch{kind, topic, cp.Positions[topic].ID.String(), id.String()})
	}
	if id := now.ids[now.ledger]; now.ledger != "" && cp.Ledger.Differs(id) {
		all = append(all, Mismatch{MismatchLedger, now.ledger, cp.Ledger.String(), id.String()})
	}
	return all
}

// next returns the checkpoint that follows cp, nil at first, with the marks of a transaction. It is pure.
func (now expectedTopics) next(cp *statetopic.Checkpoint, marks map[string]offsets.Commit) *statetopic.Checkpoint {
	next := &statetopic.Checkpoint{Group: now.group, Source: now.source, Ledger: now.ids[now.ledger], Scale: now.scale, Positions: map[string]statetopic.Position{}}
	if cp != nil {
		next.Generation, next.Same, next.LedgerFrom, next.ScaleFrom = cp.Generation, cp.Same, cp.LedgerFrom, cp.ScaleFrom
		next.Pipelines, next.Shared = cp.Pipelines, cp.Shared
		maps.Copy(next.Positions, cp.Positions)
		if now.ledger == "" {
			next.Ledger, next.Scale = cp.Ledger, cp.Scale
		}
	}
	if now.pipeline != "" && !slices.Contains(next.Pipelines, now.pipeline) {
		next.Pipelines = append(slices.Clone(next.Pipelines), now.pipeline)
		next.Pipelines = next.Pipelines[max(0, len(next.Pipelines)-statetopic.MaxPipelines):]
	}
	if _, known := next.Positions[now.source]; !known {
		next.Positions[now.source] = statetopic.Position{ID: now.ids[now.source], Commit: offsets.Commit{Offset: -1}}
	}
	for topic, m := range marks {
		next.Positions[topic] = statetopic.Position{ID: now.ids[topic], Commit: m}
	}
	return next
}
