package topics

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// Former is a former tier: a topic that is named like a tier but not configured. An earlier configuration had it, or
// another instance has a later configuration during a rolling deploy. Every instance consumes it. Its records run at
// their due times, and those that must wait again go to a configured tier. Nothing is written to it, so it empties;
// only an operator deletes it.
type Former struct {
	policy.Tier
	Partitions int
	ID         [16]byte
}

// Delay returns the delay in a topic's name; it is the inverse of policy.TierTopic. ok is false for a topic that is not
// named like a tier with this prefix.
func Delay(prefix, topic string) (delay time.Duration, ok bool) {
	suffix, named := strings.CutPrefix(topic, prefix)
	if !named || suffix == "" || suffix[0] < '0' || suffix[0] > '9' {
		return 0, false
	}
	delay, err := time.ParseDuration(suffix)
	return delay, err == nil && delay > 0
}

// FormerAmong lists the topics of a cluster that are named like a tier with this prefix and are not in known, by delay.
// Topics that the client must not describe are missing.
func FormerAmong(prefix string, known []string, topics kadm.TopicDetails) []Former {
	var former []Former
	for name, d := range topics {
		delay, named := Delay(prefix, name)
		if named && d.Err == nil && len(d.Partitions) > 0 && !slices.Contains(known, name) {
			former = append(former, Former{policy.Tier{Topic: name, Delay: delay}, len(d.Partitions), d.ID})
		}
	}
	slices.SortFunc(former, func(a, b Former) int { return cmp.Or(cmp.Compare(a.Delay, b.Delay), cmp.Compare(a.Topic, b.Topic)) })
	return former
}

// Discover asks the cluster for former tiers.
func (c *Cluster) Discover(ctx context.Context, adm *kadm.Client) ([]Former, error) {
	topics, err := adm.ListTopics(kadm.WithAuthorizedOps(ctx)) // bypasses the client's cache
	if err != nil {
		return nil, fmt.Errorf("list topics: %w", err)
	}
	known := slices.Concat(c.Records(), c.Outputs, c.Journal, []string{c.State, c.Ledger, c.Heads})
	return FormerAmong(c.TierPrefix, known, topics), nil
}

// inspectFormer adds the former tiers to a layout, and their faults to faults.
func (c *Cluster) inspectFormer(ctx context.Context, adm *kadm.Client, l *Layout, faults *[]string) (err error) {
	if l.Former, err = c.Discover(ctx, adm); err != nil {
		return err
	}
	for _, topic := range c.Consumed(nil) {
		l.Counts[topic] = l.Partitions
	}
	for _, f := range l.Former {
		l.Names[f.ID], l.IDs[f.Topic], l.Counts[f.Topic] = f.Topic, f.ID, f.Partitions
	}
	excess, err := c.excess(ctx, adm, l.Former, l.Partitions)
	*faults = append(*faults, excess...)
	return err
}

// excess refuses a former tier with more partitions than the source while a record of this pipeline waits in a partition
// beyond the source's: nobody would consume it. Records of other pipelines are ignored.
func (c *Cluster) excess(ctx context.Context, adm *kadm.Client, former []Former, partitions int) (faults []string, err error) {
	for _, f := range former {
		if f.Partitions <= partitions {
			continue
		}
		waits, err := c.waitsBeyond(ctx, adm, f.Topic, partitions)
		if err != nil {
			return nil, err
		}
		if waits {
			faults = append(faults, fmt.Sprintf("former tier %s has %d partitions, the source %s has %d, and records of this pipeline wait in the additional ones; "+
				"add partitions to the source and to the topics that share its count: kafka-topics.sh --alter --topic %s --partitions %d",
				f.Topic, f.Partitions, c.Source, partitions, c.Source, f.Partitions))
		}
	}
	return faults, nil
}

// mostLookedAt bounds the records of a partition that are searched for one of this pipeline.
const mostLookedAt = 1000

// waitsBeyond reports whether an unfinished record that names no other pipeline waits in a partition with number from
// or higher. A topic without commits of the group is assumed to be another pipeline's.
func (c *Cluster) waitsBeyond(ctx context.Context, adm *kadm.Client, topic string, from int) (waits bool, err error) {
	committed, err := c.commits(ctx, adm)
	if err != nil || len(committed[topic]) == 0 {
		return false, err
	}
	looked := map[partition]int{}
	err = c.readWaiting(ctx, adm, []string{topic}, func(at partition) (start int64, wanted bool) {
		commit, _ := committed.Lookup(topic, at.number)
		return commit.At, int(at.number) >= from
	}, func(at partition, r *kgo.Record) (enough bool) {
		if writer := WriterOf(r); writer == "" || writer == c.Pipeline {
			waits = true
		}
		looked[at]++
		return waits || looked[at] >= mostLookedAt
	})
	return waits, err
}
