package retrytopics

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/kafka"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/topics"
)

// ErrGroup is wrapped when the consumer group belongs to another pipeline. Its leader assigns partitions of its own
// source only, so this engine would silently get nothing.
var ErrGroup = kafka.ErrForeignGroup

// leave removes the instance from its group when Run returns, unless Membership.Static keeps its partitions for it.
func (e *Engine) leave(ctx context.Context) {
	member := e.member.Swap(nil)
	if member == nil || e.cfg.Membership.Static {
		return
	}
	if err := e.access.Leave(ctx, e.cfg.Group, e.cfg.Membership.Instance, *member); err != nil {
		e.cfg.Logger.WarnContext(ctx, "cannot leave the group; its partitions move after the session timeout", "error", err)
	}
}

// checkGroup refuses to join group members that do not consume the engine's source. An engine that was in the group
// before them goes on and logs it.
func (e *Engine) checkGroup(ctx context.Context, adm *kadm.Client) error {
	err := kafka.CheckGroup(ctx, adm, e.cfg.Group, e.cfg.Source, e.cfg.Membership.Instance)
	if err != nil && e.health.wasHealthy() {
		e.cfg.Logger.WarnContext(ctx, "another pipeline has joined the consumer group; it gets no partitions", "error", err)
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
	if err := s.e.checkGroup(ctx, s.adm); err != nil {
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
		topic = kafka.Lacking(s.assigned, s.e.cfg.Source, s.layout.Counts)
	}
	s.mu.Unlock()
	if c.Due(topic, time.Now()) {
		s.e.cfg.Logger.InfoContext(ctx, "the group has assigned some partitions without those of other topics with their number; asking for a rebalance", "missing", topic)
		s.committer.Client().ForceRebalance()
	}
}

// Ready reports whether the instance takes part in its group and commits its results. If not, why is the reason.
func (e *Engine) Ready() (ready bool, why string) {
	stats := e.Stats()
	if b, blocked := e.Blocked(); blocked {
		return false, "cannot commit since " + b.Since.UTC().Format(time.RFC3339) + ": " + b.Reason
	}
	switch {
	case !stats.Joined:
		return false, "not a member of the consumer group " + e.cfg.Group
	case stats.Silence > kafka.SilenceLimit(e.cfg.Membership.Session):
		return false, "the group coordinator has not answered for " + stats.Silence.Round(time.Second).String()
	case stats.Uncommitted > 2*e.cfg.Timing.Transaction:
		return false, "finished records have waited for their commit for " + stats.Uncommitted.Round(time.Second).String()
	}
	return true, ""
}

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
