package session

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/instance"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/kafka"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/topics"
)

// checkGroup refuses to join group members that do not consume the engine's source. An engine that was in the group
// before them continues and logs it.
func checkGroup(ctx context.Context, in *instance.Instance, adm *kadm.Client) error {
	err := kafka.CheckGroup(ctx, adm, in.Cfg.Group, in.Cfg.Source, in.Cfg.Membership.Instance)
	if err != nil && in.Health.WasHealthy() {
		in.Cfg.Logger.WarnContext(ctx, "another pipeline has joined the consumer group; it gets no partitions", "error", err)
		return nil
	}
	return err
}

// unassigned checks the group's other members when this instance has no partitions. It may have joined during a
// rebalance, in which the coordinator does not report the members' topics.
func (s *Session) unassigned(ctx context.Context) {
	s.mu.Lock()
	nothing := s.hasAssignment && len(s.assigned) == 0
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
func (s *Session) claim(ctx context.Context, c *kafka.Claims) {
	s.mu.Lock()
	topic := ""
	if s.hasAssignment {
		topic = kafka.Lacking(s.assigned, s.in.Cfg.Source, s.layout.Counts)
	}
	s.mu.Unlock()
	if c.Due(topic, time.Now()) {
		s.in.Cfg.Logger.InfoContext(ctx, "the group has assigned some partitions without those of other topics with their number; asking for a rebalance", "missing", topic)
		s.Committer.Client().ForceRebalance()
	}
}

// connect joins the group.
func (s *Session) connect(ctx context.Context) (kafka.Committer, error) {
	cfg := &s.in.Cfg
	fromStart := func(ctx context.Context, fetched map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
		return topics.FromStart(ctx, s.adm, cfg.Logger, fetched), nil
	}
	s.member = kafka.Member{
		Access: &s.in.Access, Group: cfg.Group, Instance: cfg.Membership.Instance, Session: cfg.Membership.Session, Rejoin: s.in.Intervals.Rejoin,
		Topics:   s.in.Consumed(),
		Balancer: kafka.Balancer{Source: cfg.Source, Announce: cfg.Membership.Announce, OnAssigned: s.onAssignment},

		Partitioner: s.partitioner, Budget: s.budget, Limits: s.layout.Limits, RecordBytes: cfg.Limits.RecordBytes + largeRoom, Pulse: &s.in.Pulse,
		OnOffsets: s.onOffsets, Adjust: fromStart, OnRevoked: s.onGone, OnLost: s.onLost,
	}
	if cfg.Delivery == retrytopics.AtLeastOnce {
		return s.member.Join()
	}
	return s.member.JoinTransactional(ctx, cfg.TransactionalID(), cfg.Timing.Transaction)
}
