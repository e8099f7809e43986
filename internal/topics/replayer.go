package topics

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/kafka"
)

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
			return nil, fmt.Errorf("the name of the DLQ is too long: topics are named after it, and %s has %d characters; Kafka takes at most %d", plan[i].Name, len(plan[i].Name), longestName)
		}
		plan[i].Replication = brokersReplication
	}
	return plan, nil
}

// Missing returns the topics of a plan that do not exist.
func Missing(ctx context.Context, admin *kadm.Client, plan []Topic) ([]Topic, error) {
	var names []string
	for _, t := range plan {
		names = append(names, t.Name)
	}
	// A request for the permitted operations bypasses the client's cache, which would report a new topic as missing for
	// seconds.
	details, err := admin.ListTopics(kadm.WithAuthorizedOps(ctx), names...)
	if err != nil {
		return nil, fmt.Errorf("ask the broker for the topics: %w", kafka.DeniedTopics("Describe", names, err, func(topic string) error {
			_, err := admin.ListTopics(kadm.WithAuthorizedOps(ctx), topic)
			return err
		}))
	}
	var missing []Topic
	for _, t := range plan {
		switch d, known := details[t.Name]; {
		case !known, errors.Is(d.Err, kerr.UnknownTopicOrPartition):
			missing = append(missing, t)
		case d.Err != nil:
			return nil, fmt.Errorf("ask the broker for topic %s: %w", t.Name, kafka.DeniedTopic("Describe", t.Name, d.Err))
		}
	}
	return missing, nil
}

// Create creates topics and waits until the brokers know them. It reads no settings, for which it may have no
// permission.
func Create(ctx context.Context, admin *kadm.Client, plan []Topic) error {
	for _, t := range plan {
		if err := create(ctx, admin, t, 0); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	for {
		missing, err := Missing(ctx, admin, plan)
		if err != nil || len(missing) == 0 {
			return err
		}
		if err := kafka.Pause(ctx, settleInterval); err != nil {
			return fmt.Errorf("wait until the brokers know the %d new topics: %w", len(missing), err)
		}
	}
}
