package retrytopics

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// A former tier is a topic that is named like a tier but not configured: an earlier configuration had it, or another
// instance has a later configuration during a rolling deploy. Every instance consumes it. Its records run at their due
// times, and those that must wait again go to a configured tier. Nothing is written to it, so it runs empty; only an
// operator deletes it.

// FormerTier is a topic that is named like a tier of the pipeline but is not configured.
type FormerTier struct {
	policy.Tier
	Partitions int
	ID         [16]byte
}

// TierDelay is the inverse of TierTopic: it returns the delay in a topic's name. ok is false for a topic that is not
// named like a tier with this prefix.
func TierDelay(prefix, topic string) (delay time.Duration, ok bool) {
	suffix, named := strings.CutPrefix(topic, prefix)
	if !named || suffix == "" || suffix[0] < '0' || suffix[0] > '9' {
		return 0, false
	}
	delay, err := time.ParseDuration(suffix)
	return delay, err == nil && delay > 0
}

// FormerTiers lists the cluster's topics that are named like a tier with this prefix and are not in known, by delay.
// Topics that the client must not describe are missing. topics must be all topics of the cluster.
func FormerTiers(prefix string, known []string, topics kadm.TopicDetails) []FormerTier {
	var former []FormerTier
	for name, d := range topics {
		delay, named := TierDelay(prefix, name)
		if named && d.Err == nil && len(d.Partitions) > 0 && !slices.Contains(known, name) {
			former = append(former, FormerTier{policy.Tier{Topic: name, Delay: delay}, len(d.Partitions), d.ID})
		}
	}
	slices.SortFunc(former, func(a, b FormerTier) int { return cmp.Or(cmp.Compare(a.Delay, b.Delay), cmp.Compare(a.Topic, b.Topic)) })
	return former
}

// discover asks the cluster for former tiers.
func (e *Engine) discover(ctx context.Context, adm *kadm.Client) ([]FormerTier, error) {
	topics, err := adm.ListTopics(kadm.WithAuthorizedOps(ctx)) // bypasses the client's cache
	if err != nil {
		return nil, fmt.Errorf("list topics: %w", err)
	}
	known := slices.Concat(e.topics(), e.cfg.Outputs, e.cfg.Journal.KeepPartition,
		[]string{e.cfg.Ordering.StateTopic, e.cfg.Dedupe.LedgerTopic, e.cfg.Journal.HashChain.HeadTopic})
	return FormerTiers(e.cfg.Retries.TierPrefix, known, topics), nil
}

// tier returns a tier by its index in tiers.
func (e *Engine) tier(i int) policy.Tier {
	if i < len(e.cfg.Retries.Tiers) {
		return e.cfg.Retries.Tiers[i]
	}
	return e.formerTiers()[i-len(e.cfg.Retries.Tiers)].Tier
}

// inspectFormer adds the former tiers to a layout, and their faults to faults.
func (e *Engine) inspectFormer(ctx context.Context, adm *kadm.Client, l *layout, faults *[]string) (err error) {
	if l.former, err = e.discover(ctx, adm); err != nil {
		return err
	}
	for _, topic := range e.topics()[:len(e.cfg.Retries.Tiers)+1] {
		l.counts[topic] = l.partitions
	}
	for _, f := range l.former {
		l.names[f.ID], l.ids[f.Topic], l.counts[f.Topic] = f.Topic, f.ID, f.Partitions
	}
	excess, err := e.excess(ctx, adm, l.former, l.partitions)
	*faults = append(*faults, excess...)
	return err
}

// formerTiers returns the former tiers of the latest session.
func (e *Engine) formerTiers() []FormerTier {
	if known := e.former.Load(); known != nil {
		return *known
	}
	return nil
}

// consumed lists the source, the tiers and the former tiers, in this order.
func (e *Engine) consumed() []string {
	names := e.topics()[:len(e.cfg.Retries.Tiers)+1]
	for _, f := range e.formerTiers() {
		names = append(names, f.Topic)
	}
	return names
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
	found, err := e.discover(ctx, adm)
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

func listTiers(former []FormerTier) string {
	names := make([]string, len(former))
	for i, f := range former {
		names[i] = f.Topic
	}
	return strings.Join(names, " ")
}

// excess refuses a former tier with more partitions than the source while a record of this pipeline waits in a partition
// beyond the source's: nobody would consume it. Records of other pipelines are ignored.
func (e *Engine) excess(ctx context.Context, adm *kadm.Client, former []FormerTier, partitions int) (faults []string, err error) {
	for _, f := range former {
		if f.Partitions <= partitions {
			continue
		}
		waits, err := e.waitsBeyond(ctx, adm, f.Topic, partitions)
		if err != nil {
			return nil, err
		}
		if waits {
			faults = append(faults, fmt.Sprintf("former tier %s has %d partitions, the source %s has %d, and records of this pipeline wait in those beyond; "+
				"add partitions to the source and to the topics that share its count: kafka-topics.sh --alter --topic %s --partitions %d",
				f.Topic, f.Partitions, e.cfg.Source, partitions, e.cfg.Source, f.Partitions))
		}
	}
	return faults, nil
}

// mostLookedAt bounds the records of a partition that are searched for one of this pipeline.
const mostLookedAt = 1000

// waitsBeyond reports whether an unfinished record that names no other pipeline waits in a partition with number from or
// higher. A topic without commits of the group is taken for another pipeline's.
func (e *Engine) waitsBeyond(ctx context.Context, adm *kadm.Client, topic string, from int) (waits bool, err error) {
	committed, err := e.commits(ctx, adm)
	if err != nil || len(committed[topic]) == 0 {
		return false, err
	}
	looked := map[topicPartition]int{}
	err = e.readWaiting(ctx, adm, []string{topic}, func(at topicPartition) (start int64, wanted bool) {
		c, _ := committed.Lookup(topic, at.partition)
		return c.At, int(at.partition) >= from
	}, func(at topicPartition, r *kgo.Record) (enough bool) {
		if writer := writerOf(r); writer == "" || writer == e.cfg.Origin.Pipeline {
			waits = true
		}
		looked[at]++
		return waits || looked[at] >= mostLookedAt
	})
	return waits, err
}
