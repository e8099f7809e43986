package retrytopics

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/offsets"
)

// ErrMemory is wrapped when what the engine remembers does not belong to the topics and the group as they are now: a topic
// was deleted and re-created, or the group was renamed. Going on would take new events for old ones, or old ones for new.
// Engine.Adopt says what to give up, and gives it up.
var ErrMemory = errors.New("the memory does not belong to the topics as they are now")

// ErrAlienMemory is wrapped when the state topic or the ledger holds a record that the engine cannot have written. No later session
// can read it either.
var ErrAlienMemory = errors.New("a record of the memory cannot be read: see docs/operations.md, \"A memory that cannot be read\"")

// errNewerMemory is wrapped when a record of the memory has the form of a later version.
var errNewerMemory = errors.New("a newer version of the engine wrote the memory, or other software did (docs/operations.md, \"A memory that cannot be read\")")

// MismatchKind says what of a memory does not fit. It is a closed list (see MismatchKinds).
type MismatchKind string

// The kinds of mismatches.
const (
	MismatchSource MismatchKind = "source" // the source topic was re-created
	MismatchTier   MismatchKind = "tier"   // a tier was re-created: what waited there is gone
	MismatchLedger MismatchKind = "ledger" // the ledger was re-created: repetitions are not recognised
	MismatchState  MismatchKind = "state"  // the state topic was re-created, or has lost its checkpoint
	MismatchGroup  MismatchKind = "group"  // the memory is that of another group
	// MismatchUnbound is a memory that does not say what it belongs to: an earlier version wrote it, and the group's commits,
	// which said it, are gone.
	MismatchUnbound MismatchKind = "unbound"
)

// Mismatch is one thing in which a memory does not fit.
type Mismatch struct {
	Kind       MismatchKind `json:"kind"`
	Topic      string       `json:"topic"`      // that was re-created; of a group, the state topic
	Remembered string       `json:"remembered"` // id of the topic, or name of the group
	Now        string       `json:"now"`
}

// String says what has happened.
func (m Mismatch) String() string {
	switch m.Kind {
	case MismatchState:
		return fmt.Sprintf("state topic %s has lost the checkpoint that the commits of group %s speak of: it was deleted and re-created, or cut", m.Topic, m.Now)
	case MismatchGroup:
		return fmt.Sprintf("state topic %s is the memory of group %s, not of group %s", m.Topic, m.Remembered, m.Now)
	case MismatchUnbound:
		return fmt.Sprintf("the memory beside %s does not say to which topic it belongs, since an earlier version wrote it, and group %s has no commits: "+
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

// expectedTopics are what a partition's memory is held against.
type expectedTopics struct {
	group    string
	pipeline string // id that records carry
	source   string
	state    string // topic
	ledger   string // topic; "" without dedupe
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
	checkpoint *checkpoint // nil when there is none
	committed  bool        // the group has a commit of the source topic
	sealed     bool        // a commit was made with a checkpoint
	remembers  bool        // there are keys in the state or the ledger
}

// mismatches gives all in which a partition's memory does not fit. It is pure.
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

// next gives the checkpoint that follows cp, nil at first, with the marks of a transaction. It is pure.
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
