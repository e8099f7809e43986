package topics

import (
	"time"

	"github.com/switchback-geo/switchback/internal/config"
)

// Plan returns the topics of a pipeline, the source first. It is pure: it asks no broker.
func Plan(c *config.Config) []Topic {
	partitions, replication := int32(c.Topics.Partitions), int16(c.Topics.ReplicationFactor) //nolint:gosec // config bounds both
	topic := func(name string, role Role) Topic {
		return Topic{Name: name, Role: role, Partitions: partitions, Replication: replication, Cleanup: CleanupOwner}
	}
	keep := func(name string, role Role) Topic {
		t := topic(name, role)
		t.Shared, t.Cleanup, t.Retention, t.Sized, t.Headroom, t.Keyless = true, CleanupDelete, Forever, true, Headroom, true
		return t
	}
	compact := func(name string, role Role) Topic {
		t := topic(name, role)
		t.Shared, t.Cleanup = true, CleanupCompact
		return t
	}

	plan := []Topic{topic(c.Source.Topic, RoleSource)}
	for _, tier := range c.TierTopics() {
		plan = append(plan, keep(tier, RoleTier))
	}
	audit := topic(c.Topics.Audit, RoleAudit)
	audit.Cleanup, audit.Retention = CleanupDelete, auditRetention
	audit.Keyless = true
	audit.Shared = c.Governance.On() // the ledger's entries are in their shard's partition
	control := compact(c.Topics.Control, RoleControl)
	control.Shared, control.Partitions = false, 1
	output := topic(c.Output.Topic, RoleOutput)
	output.Sized, output.Keyless = true, c.Source.NullKeys == config.NullKeysAccept
	state := compact(c.Topics.State, RoleState)
	state.Busy = true // the checkpoints
	plan = append(plan,
		keep(c.Topics.DLQ, RoleDLQ),
		output,
		state,
		ledger(c, topic),
		compact(c.Topics.DLQStatus, RoleDLQStatus),
		audit,
		control,
	)
	if c.Governance.On() {
		plan = append(plan, compact(c.Topics.Governance, RoleGovernance))
	}
	return plan
}

// ledger keeps its records as long as the dedupe window needs them.
func ledger(c *config.Config, topic func(string, Role) Topic) Topic {
	t := topic(c.Topics.Ledger, RoleLedger)
	t.Shared, t.Keyless, t.Cleanup, t.Retention = true, true, CleanupDelete, max(c.Dedupe.Window.Std(), time.Hour)
	return t
}
