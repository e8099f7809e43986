package retrytopics

import (
	"fmt"
)

// MismatchKind is a kind of mismatch between the memory and the topics. It is a closed list.
type MismatchKind string

// The kinds of mismatches.
const (
	MismatchSource MismatchKind = "source" // the source topic was re-created
	MismatchTier   MismatchKind = "tier"   // a tier was re-created: its waiting records are lost
	MismatchLedger MismatchKind = "ledger" // the ledger was re-created: duplicates are not recognized
	MismatchState  MismatchKind = "state"  // the state topic was re-created, or has lost its checkpoint
	MismatchGroup  MismatchKind = "group"  // the memory is another group's
	// MismatchUnbound is a memory without a checkpoint while the group has no commits, so the memory cannot be
	// matched to a topic.
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
		return fmt.Sprintf("state topic %s has lost the checkpoint to which the commits of group %s refer: it was deleted and re-created, or truncated", m.Topic, m.Now)
	case MismatchGroup:
		return fmt.Sprintf("state topic %s is the memory of group %s, not of group %s", m.Topic, m.Remembered, m.Now)
	case MismatchUnbound:
		return fmt.Sprintf("the memory for %s has no checkpoint that names its topic, and group %s has no commits: "+
			"they expired, or the topic was deleted and re-created. If they expired, set them (kafka-consumer-groups.sh --reset-offsets) and start again",
			m.Topic, m.Now)
	case MismatchSource, MismatchTier, MismatchLedger:
	}
	return fmt.Sprintf("%s topic %s was deleted and re-created: the memory belongs to topic id %s, the topic now has id %s", m.Kind, m.Topic, m.Remembered, m.Now)
}
