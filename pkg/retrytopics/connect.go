package retrytopics

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/kafka"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/topics"
)

// rebalanceTimeout is how long a member may take to rejoin. Meanwhile it restores the memory of its partitions, which takes
// as long as reading the ledger.
const rebalanceTimeout = 5 * time.Minute

// connect joins the group.
func (s *session) connect(ctx context.Context) (kafka.Committer, error) {
	cfg := &s.e.cfg
	fromStart := func(ctx context.Context, fetched map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
		return topics.FromStart(ctx, s.adm, cfg.Logger, fetched), nil
	}
	s.member = kafka.Member{
		Access: &s.e.access, Group: cfg.Group, Instance: cfg.Membership.Instance, Session: cfg.Membership.Session, Rejoin: s.e.intervals.rejoin,
		Topics:   s.e.consumed(),
		Balancer: kafka.Balancer{Source: cfg.Source, Announce: cfg.Membership.Announce, OnAssigned: s.onAssignment},

		Partitioner: s.partitioner, Budget: s.budget, Limits: s.layout.Limits, RecordBytes: cfg.Limits.RecordBytes + largeRoom, Pulse: &s.e.pulse,
		OnOffsets: s.onOffsets, Adjust: fromStart, OnRevoked: s.onGone, OnLost: s.onLost,
	}
	if cfg.Delivery == AtLeastOnce {
		return s.member.Join()
	}
	return s.member.JoinTransactional(ctx, cfg.transactionalID(), cfg.Timing.Transaction)
}

// partitioner keeps the records of co-partitioned topics in their partitions.
func (c *Config) partitioner() *kafka.Partitioner {
	keeps := append([]string{c.DLQ, c.Ordering.StateTopic, c.Dedupe.LedgerTopic, c.Journal.HashChain.HeadTopic}, c.Journal.KeepPartition...)
	for _, t := range c.Retries.Tiers {
		keeps = append(keeps, t.Topic)
	}
	return kafka.NewPartitioner(keeps...)
}
