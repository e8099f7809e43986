package retrytopics

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/kafka"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/topics"
)

// checkGroup refuses to join group members that do not consume the engine's source. An engine that was in the group
// before them goes on and logs it.
func checkGroup(ctx context.Context, in *instance, adm *kadm.Client) error {
	err := kafka.CheckGroup(ctx, adm, in.cfg.Group, in.cfg.Source, in.cfg.Membership.Instance)
	if err != nil && in.health.wasHealthy() {
		in.cfg.Logger.WarnContext(ctx, "another pipeline has joined the consumer group; it gets no partitions", "error", err)
		return nil
	}
	return err
}

// unassigned checks the group's other members when this instance has no partitions. It may have joined during a
// rebalance, in which the coordinator does not tell.
func (s *session) unassigned(ctx context.Context) {
	s.mu.Lock()
	nothing := s.told && len(s.assigned) == 0
	s.mu.Unlock()
	if !nothing {
		return
	}
	if err := checkGroup(ctx, s.in, s.adm); err != nil {
		s.mu.Lock()
		if s.fatal == nil {
			s.fatal = err
		}
		s.mu.Unlock()
	}
}

// claim asks for a rebalance if the group has given this instance only some partitions of a number.
func (s *session) claim(ctx context.Context, c *kafka.Claims) {
	s.mu.Lock()
	topic := ""
	if s.told {
		topic = kafka.Lacking(s.assigned, s.in.cfg.Source, s.layout.Counts)
	}
	s.mu.Unlock()
	if c.Due(topic, time.Now()) {
		s.in.cfg.Logger.InfoContext(ctx, "the group has assigned some partitions without those of other topics with their number; asking for a rebalance", "missing", topic)
		s.committer.Client().ForceRebalance()
	}
}

// connect joins the group.
func (s *session) connect(ctx context.Context) (kafka.Committer, error) {
	cfg := &s.in.cfg
	fromStart := func(ctx context.Context, fetched map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
		return topics.FromStart(ctx, s.adm, cfg.Logger, fetched), nil
	}
	s.member = kafka.Member{
		Access: &s.in.access, Group: cfg.Group, Instance: cfg.Membership.Instance, Session: cfg.Membership.Session, Rejoin: s.in.intervals.rejoin,
		Topics:   s.in.consumed(),
		Balancer: kafka.Balancer{Source: cfg.Source, Announce: cfg.Membership.Announce, OnAssigned: s.onAssignment},

		Partitioner: s.partitioner, Budget: s.budget, Limits: s.layout.Limits, RecordBytes: cfg.Limits.RecordBytes + largeRoom, Pulse: &s.in.pulse,
		OnOffsets: s.onOffsets, Adjust: fromStart, OnRevoked: s.onGone, OnLost: s.onLost,
	}
	if cfg.Delivery == AtLeastOnce {
		return s.member.Join()
	}
	return s.member.JoinTransactional(ctx, cfg.TransactionalID(), cfg.Timing.Transaction)
}

// partitioner keeps the records of co-partitioned topics in their partitions.
func (c *Config) partitioner() *kafka.Partitioner {
	keeps := append([]string{c.DLQ, c.Ordering.StateTopic, c.Dedupe.LedgerTopic, c.Journal.HashChain.HeadTopic}, c.Journal.KeepPartition...)
	for _, t := range c.Retries.Tiers {
		keeps = append(keeps, t.Topic)
	}
	return kafka.NewPartitioner(keeps...)
}
