package retrytopics

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/topics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// ErrTopics is wrapped by the error about topics that are missing or do not fit together.
var ErrTopics = topics.ErrUnfit

// ErrLogTruncated is wrapped when a partition ends before what is committed of it: the brokers lost records, or the topic was
// re-created under its name. New records then have the offsets of old ones, so going on would skip them, or take them for older
// than what took effect. Only a person can decide what is right then.
var ErrLogTruncated = topics.ErrTruncated

// CreateTopics creates the missing ones of tiers, DLQ, state topic and, if the configuration needs it, ledger. They get
// the partition count and replication factor of the source topic, which must exist. CreateTopics returns when the
// cluster shows them. Tiers and DLQ keep their records for ever: a waiting record must not expire, and the engine
// deletes finished records from a tier. It changes no existing topic.
func (e *Engine) CreateTopics(ctx context.Context) error {
	adm, err := e.in.access.Admin()
	if err != nil {
		return fmt.Errorf("create topics: %w", err)
	}
	defer adm.Close()
	return e.in.cluster.Create(ctx, adm)
}

// FormerTier is a topic that is named like a tier of the pipeline but is not configured.
type FormerTier struct {
	policy.Tier
	Partitions int
	ID         [16]byte
}

// TierDelay is the inverse of TierTopic: it returns the delay in a topic's name. ok is false for a topic that is not
// named like a tier with this prefix.
func TierDelay(prefix, topic string) (delay time.Duration, ok bool) {
	return topics.Delay(prefix, topic)
}

// FormerTiers lists the topics that are named like a tier with this prefix and are not in known, by delay. all are the
// topics of the cluster. Topics that the client must not describe are missing.
func FormerTiers(prefix string, known []string, all kadm.TopicDetails) []FormerTier {
	var former []FormerTier
	for _, f := range topics.FormerAmong(prefix, known, all) {
		former = append(former, FormerTier(f))
	}
	return former
}
