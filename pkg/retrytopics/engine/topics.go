package engine

import (
	"context"
	"fmt"
)

// CreateTopics creates the missing ones of tiers, DLQ, state topic and, if the configuration needs it, ledger. They
// get the partition count and replication factor of the source topic, which must exist. CreateTopics returns when the
// cluster shows them. Tiers and DLQ keep their records indefinitely: a waiting record must not expire, and the engine
// deletes finished records from a tier. It changes no existing topic.
func (e *Engine) CreateTopics(ctx context.Context) error {
	adm, err := e.in.Access.Admin()
	if err != nil {
		return fmt.Errorf("create topics: %w", err)
	}
	defer adm.Close()
	return e.in.Cluster.Create(ctx, adm)
}
