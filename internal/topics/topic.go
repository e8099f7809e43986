package topics

import (
	"fmt"
	"time"
)

// Role is what a topic is for. It is a closed list (see Roles).
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
	// RoleGovernance is there only where marks are governed.
	RoleGovernance Role = "governance"
)

// Roles lists every role.
func Roles() []Role {
	return []Role{RoleSource, RoleTier, RoleDLQ, RoleOutput, RoleState, RoleLedger, RoleAudit, RoleDLQStatus, RoleControl, RoleGovernance}
}

// Cleanup is Kafka's cleanup.policy as this package demands it. It is a closed list (see Cleanups).
type Cleanup string

// The clean-up policies.
const (
	CleanupOwner   Cleanup = "owner"   // whatever the owner of the topic chose
	CleanupDelete  Cleanup = "delete"  // by age only
	CleanupCompact Cleanup = "compact" // the last value of each key stays
)

// Cleanups lists every clean-up policy.
func Cleanups() []Cleanup { return []Cleanup{CleanupOwner, CleanupDelete, CleanupCompact} }

const (
	// Forever is the Retention of a topic whose records leave only when somebody takes them away.
	Forever time.Duration = -1
	// Headroom is by how many bytes tiers and DLQ take larger messages than the source: a record's control headers.
	Headroom = 16 << 10

	auditRetention = 365 * 24 * time.Hour
)

// Topic is one topic as the pipeline needs it.
type Topic struct {
	Name string
	Role Role
	// Partitions is how many to create. When Shared, the count of an existing source rules instead.
	Partitions int32
	// Shared means that the topic must have as many partitions as the source: partition p of it belongs to shard p.
	Shared bool
	// Replication is how many copies to create.
	Replication int16
	Cleanup     Cleanup
	// Keyless means that records without a key are written, which a compacted topic does not take.
	Keyless bool
	// Retention is the least time that records stay; Forever, or 0 where it is not for this package to say.
	Retention time.Duration
	// Sized means that max.message.bytes must be at least the source's, and Headroom bytes more.
	Sized    bool
	Headroom int
	// Busy means that every transaction writes to the compacted topic, and that a start reads all of it: its segments must be small
	// enough to be compacted soon.
	Busy bool
}

// String is one line: name, role, size and clean-up.
func (t Topic) String() string {
	partitions := fmt.Sprintf("%d partitions", t.Partitions)
	if t.Partitions == 1 {
		partitions = "1 partition"
	}
	return fmt.Sprintf("%s (%s): %s, %s", t.Name, t.Role, partitions, t.Keeping())
}

// Keeping says in words what happens to old records.
func (t Topic) Keeping() string {
	switch {
	case t.Cleanup == CleanupCompact:
		return "compacted"
	case t.Retention == Forever:
		return "kept for ever"
	case t.Retention > 0 && t.Retention < 48*time.Hour:
		return fmt.Sprintf("kept for %d hours", int(t.Retention.Hours()))
	case t.Retention > 0:
		return fmt.Sprintf("kept for %d days", t.Retention/(24*time.Hour))
	default:
		return "clean-up as its owner says"
	}
}
