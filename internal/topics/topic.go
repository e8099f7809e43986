package topics

import (
	"fmt"
	"time"
)

// Role is the purpose of a topic. It is a closed list (see Roles).
type Role string

// The roles of topics.
const (
	RoleSource    Role = "source"
	RoleTier      Role = "tier"
	RoleDLQ       Role = "dlq"
	RoleOutput    Role = "output"
	RoleState     Role = "state"
	RoleLedger    Role = "ledger"
	RoleAudit     Role = "audit"
	RoleDLQStatus Role = "dlq-status"
	RoleControl   Role = "control"
	// RoleGovernance exists only with governed marks.
	RoleGovernance Role = "governance"
)

// Roles lists every role.
func Roles() []Role {
	return []Role{RoleSource, RoleTier, RoleDLQ, RoleOutput, RoleState, RoleLedger, RoleAudit, RoleDLQStatus, RoleControl, RoleGovernance}
}

// Cleanup is the required cleanup.policy. It is a closed list (see Cleanups).
type Cleanup string

// The clean-up policies.
const (
	CleanupOwner   Cleanup = "owner"   // chosen by the topic's owner
	CleanupDelete  Cleanup = "delete"  // by age only
	CleanupCompact Cleanup = "compact" // the last value of each key stays
)

// Cleanups lists every clean-up policy.
func Cleanups() []Cleanup { return []Cleanup{CleanupOwner, CleanupDelete, CleanupCompact} }

const (
	// Forever is the Retention of a topic whose records are only deleted on purpose.
	Forever time.Duration = -1
	// Headroom is how many bytes larger the messages of tiers and DLQ may be than the source's: for a record's control
	// headers.
	Headroom = 16 << 10

	auditRetention = 365 * 24 * time.Hour
)

// Topic is one topic with the properties that the pipeline needs.
type Topic struct {
	Name string
	Role Role
	// Partitions is the count for a new topic. If Shared, the count of an existing source replaces it.
	Partitions int32
	// Shared means that the topic must have as many partitions as the source: its partition p belongs to
	// partition p of the source.
	Shared bool
	// Replication is the replication factor of a new topic.
	Replication int16
	Cleanup     Cleanup
	// Keyless means that records without a key are written. A compacted topic refuses them.
	Keyless bool
	// Retention is the least time that records must stay; Forever, or 0 if the owner decides.
	Retention time.Duration
	// Sized means that max.message.bytes must be at least the source's plus Headroom bytes.
	Sized    bool
	Headroom int
	// Busy means that every transaction writes to the compacted topic, and that a start reads all of it: its segments
	// must be small, so that they are compacted soon.
	Busy bool
}

// String returns one line: name, role, size and clean-up.
func (t Topic) String() string {
	return fmt.Sprintf("%s (%s): %s, %s", t.Name, t.Role, count(t.Partitions), t.Keeping())
}

// Keeping describes what happens to old records.
func (t Topic) Keeping() string {
	switch {
	case t.Cleanup == CleanupCompact:
		return "compacted"
	case t.Retention == Forever:
		return "kept indefinitely"
	case t.Retention > 0 && t.Retention < 48*time.Hour:
		return fmt.Sprintf("kept for %d hours", int(t.Retention.Hours()))
	case t.Retention > 0:
		return fmt.Sprintf("kept for %d days", t.Retention/(24*time.Hour))
	default:
		return "clean-up chosen by its owner"
	}
}

// FaultKind is a kind of fault of a topic. It is a closed list (see FaultKinds).
type FaultKind string

// The faults of topics.
const (
	FaultMissing     FaultKind = "missing"
	FaultPartitions  FaultKind = "partitions"
	FaultCleanup     FaultKind = "cleanup_policy"
	FaultRetention   FaultKind = "retention"
	FaultMaxMessage  FaultKind = "max_message_bytes"
	FaultCompression FaultKind = "compression_type"
	FaultSegment     FaultKind = "segment_bytes"
)

// FaultKinds lists every kind of fault.
func FaultKinds() []FaultKind {
	return []FaultKind{FaultMissing, FaultPartitions, FaultCleanup, FaultRetention, FaultMaxMessage, FaultCompression, FaultSegment}
}

// Fault is one fault of one topic.
type Fault struct {
	Topic   string    `json:"topic"`
	Role    Role      `json:"role"`
	Kind    FaultKind `json:"kind"`
	Message string    `json:"message"` // what is wrong
	Fix     string    `json:"fix"`     // the command, or what to do

	refuses bool // the topic does not accept the pipeline's records
}

// Blocks reports whether the pipeline must not start: a topic is missing or does not fit, records would expire while
// they wait in a tier, or the topic does not accept the pipeline's records, because it is compacted and they have no
// key, or because its limit is too small.
func (f Fault) Blocks() bool {
	switch f.Kind {
	case FaultMissing, FaultPartitions:
		return true
	case FaultCleanup:
		return f.Role == RoleTier || f.refuses
	case FaultRetention:
		return f.Role == RoleTier
	case FaultMaxMessage:
		return f.refuses
	case FaultCompression, FaultSegment:
	}
	return false
}

// String is one line: "topic (role): what is wrong; what to do".
func (f Fault) String() string {
	return fmt.Sprintf("%s (%s): %s; %s", f.Topic, f.Role, f.Message, f.Fix)
}
