package retrytopics

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
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

// topics returns the names of the pipeline's topics.
func (c *Config) topics() topics.Set {
	return topics.Set{
		Source: c.Source, Tiers: c.Retries.Tiers, TierPrefix: c.Retries.TierPrefix, DLQ: c.DLQ, Outputs: c.Outputs, Journal: c.Journal.KeepPartition,
		State: c.Ordering.StateTopic, Ordered: c.Ordering.Mode != OrderNone, Ledger: c.Dedupe.LedgerTopic, Window: c.Dedupe.Window, Heads: c.Journal.HashChain.HeadTopic,
	}
}

// CreateTopics creates the missing ones of tiers, DLQ, state topic and, if the configuration needs it, ledger. They get
// the partition count and replication factor of the source topic, which must exist. CreateTopics returns when the
// cluster shows them. Tiers and DLQ keep their records for ever: a waiting record must not expire, and the engine
// deletes finished records from a tier. It changes no existing topic.
func (e *Engine) CreateTopics(ctx context.Context) error {
	adm, err := e.access.Admin()
	if err != nil {
		return fmt.Errorf("create topics: %w", err)
	}
	defer adm.Close()
	return e.cluster.Create(ctx, adm)
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

// formerTiers returns the former tiers of the latest session.
func (e *Engine) formerTiers() []topics.Former {
	if known := e.former.Load(); known != nil {
		return *known
	}
	return nil
}

// consumed lists the source, the tiers and the former tiers, in this order.
func (e *Engine) consumed() []string { return e.cluster.Consumed(e.formerTiers()) }

// tier returns a tier by its index in tiers.
func (e *Engine) tier(i int) policy.Tier {
	if i < len(e.cfg.Retries.Tiers) {
		return e.cfg.Retries.Tiers[i]
	}
	return e.formerTiers()[i-len(e.cfg.Retries.Tiers)].Tier
}

// tiers lists the configured tiers, then the former ones. Records are only written to configured tiers.
func (e *Engine) tiers() []policy.Tier {
	all := slices.Clone(e.cfg.Retries.Tiers)
	for _, f := range e.formerTiers() {
		all = append(all, f.Tier)
	}
	return all
}

// errTiersChanged ends a session whose former tiers differ from the cluster's.
var errTiersChanged = errors.New("the tier topics on the cluster have changed")

// rediscover ends the session if former tiers have appeared or gone since it began. The next session consumes the
// current ones.
func (e *Engine) rediscover(ctx context.Context, adm *kadm.Client) (changed bool, err error) {
	found, err := e.cluster.Discover(ctx, adm)
	if err != nil {
		return false, err
	}
	known := e.formerTiers()
	if slices.Equal(found, known) {
		return false, nil
	}
	if s := e.current.Load(); s != nil {
		s.end(fmt.Errorf("%w: former tiers were [%s], are [%s]", errTiersChanged, listTiers(known), listTiers(found)))
	}
	return true, nil
}

func listTiers(former []topics.Former) string {
	names := make([]string, len(former))
	for i, f := range former {
		names[i] = f.Topic
	}
	return strings.Join(names, " ")
}
