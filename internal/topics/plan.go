package topics

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/switchback-geo/switchback/internal/config"
)

// Plan returns the topics of a pipeline, the source first. It is pure: it sends no request.
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
	audit.Shared = c.Governance.On() // an entry of the ledger is in the partition with its record's number
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

// ledger keeps its records for the dedupe window.
func ledger(c *config.Config, topic func(string, Role) Topic) Topic {
	t := topic(c.Topics.Ledger, RoleLedger)
	t.Shared, t.Keyless, t.Cleanup, t.Retention = true, true, CleanupDelete, max(c.Dedupe.Window.Std(), time.Hour)
	return t
}

const (
	// longestName is Kafka's limit.
	longestName = 249
	// brokersReplication leaves the replication factor to the brokers' setting.
	brokersReplication = -1
)

// OfReplayer returns the topics in which the replayer keeps its state about a DLQ without a pipeline (see
// [config.LoadDLQ]), with the DLQ's partition count. It is pure. The error means that the DLQ's name is too long to be a
// prefix of others.
func OfReplayer(c *config.Config, partitions int32) ([]Topic, error) {
	plan := []Topic{
		{Name: c.Topics.DLQStatus, Role: RoleDLQStatus, Partitions: partitions, Cleanup: CleanupCompact},
		{Name: c.Topics.Audit, Role: RoleAudit, Partitions: partitions, Cleanup: CleanupDelete, Retention: auditRetention, Keyless: true},
		{Name: c.Topics.Control, Role: RoleControl, Partitions: 1, Cleanup: CleanupCompact},
	}
	for i := range plan {
		if len(plan[i].Name) > longestName {
			return nil, fmt.Errorf("the name of the DLQ is too long: topics are named after it, and %s has %d characters; Kafka allows at most %d", plan[i].Name, len(plan[i].Name), longestName)
		}
		plan[i].Replication = brokersReplication
	}
	return plan, nil
}

// Create creates topics and waits until the brokers report them. It reads no settings, because it may lack the
// permission.
func Create(ctx context.Context, admin *kadm.Client, plan []Topic) error {
	for _, t := range plan {
		if err := create(ctx, admin, t, 0); err != nil {
			return err
		}
	}
	return settle(ctx, len(plan), func(ctx context.Context) (bool, error) {
		missing, err := Missing(ctx, admin, plan)
		return err == nil && len(missing) == 0, err
	})
}
