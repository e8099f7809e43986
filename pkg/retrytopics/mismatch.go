package retrytopics

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/offsets"
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
	state    string // topic
	ledger   string // topic; "" without deduplication
	scale    Scale  // of versions
	ids      map[string]topicID
}

func (e *Engine) expectedTopics(l *layout) expectedTopics {
	now := expectedTopics{group: e.cfg.Group, pipeline: e.cfg.Origin.Pipeline, source: e.cfg.Source, state: e.cfg.Ordering.StateTopic, scale: e.cfg.scale(), ids: l.ids}
	if e.cfg.Dedupe.on() {
		now.ledger = e.cfg.Dedupe.LedgerTopic
	}
	return now
}

// evidence is what is known of a partition's memory.
type evidence struct {
	checkpoint *checkpoint // nil if there is none
	committed  bool        // the group has a commit of the source topic
	sealed     bool        // a commit was made with a checkpoint
	remembers  bool        // state or ledger have keys
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
	if cp.group != now.group {
		all = append(all, Mismatch{MismatchGroup, now.state, cp.group, now.group})
	}
	for _, topic := range slices.Sorted(maps.Keys(cp.positions)) {
		id, known := now.ids[topic]
		if !known || !cp.positions[topic].id.differs(id) {
			continue
		}
		kind := MismatchTier
		if topic == now.source {
			kind = MismatchSource
		}
		all = append(all, Mismatch{kind, topic, cp.positions[topic].id.String(), id.String()})
	}
	if id := now.ids[now.ledger]; now.ledger != "" && cp.ledger.differs(id) {
		all = append(all, Mismatch{MismatchLedger, now.ledger, cp.ledger.String(), id.String()})
	}
	return all
}

// next returns the checkpoint that follows cp, nil at first, with the marks of a transaction. It is pure.
func (now expectedTopics) next(cp *checkpoint, marks map[string]offsets.Commit) *checkpoint {
	next := &checkpoint{group: now.group, source: now.source, ledger: now.ids[now.ledger], scale: now.scale, positions: map[string]topicPosition{}}
	if cp != nil {
		next.generation, next.same, next.ledgerFrom, next.scaleFrom = cp.generation, cp.same, cp.ledgerFrom, cp.scaleFrom
		next.pipelines, next.shared = cp.pipelines, cp.shared
		maps.Copy(next.positions, cp.positions)
		if now.ledger == "" {
			next.ledger, next.scale = cp.ledger, cp.scale
		}
	}
	if now.pipeline != "" && !slices.Contains(next.pipelines, now.pipeline) {
		next.pipelines = append(slices.Clone(next.pipelines), now.pipeline)
		next.pipelines = next.pipelines[max(0, len(next.pipelines)-maxPipelines):]
	}
	if _, known := next.positions[now.source]; !known {
		next.positions[now.source] = topicPosition{now.ids[now.source], offsets.Commit{Offset: -1}}
	}
	for topic, m := range marks {
		next.positions[topic] = topicPosition{now.ids[topic], m}
	}
	return next
}
