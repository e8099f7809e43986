package retrytopics

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/kafka"
)

// rebalanceTimeout is how long a member may take to rejoin. It restores the memory of its partitions meanwhile, which takes as long
// as reading the ledger does.
const rebalanceTimeout = 5 * time.Minute

func (s *session) connect(ctx context.Context) (kafka.Committer, error) {
	cfg := &s.e.cfg
	if cfg.Delivery == AtLeastOnce {
		client, err := kgo.NewClient(append(s.options(), kgo.DisableAutoCommit())...)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errOptions, err)
		}
		return kafka.Plain(client), nil
	}
	session, err := kgo.NewGroupTransactSession(append(s.options(),
		kgo.TransactionalID(cfg.transactionalID()),
		kgo.TransactionTimeout(cfg.Timing.Transaction),
		kgo.ConcurrentTransactionsBackoff(2*time.Millisecond), // the default of 20 ms costs most of a small transaction
	)...)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errOptions, err)
	}
	// Taking the transactional id now ends a predecessor's open transaction at once; the offsets in it could not be read
	// before its timeout otherwise.
	bounded, cancel := context.WithTimeout(ctx, 2*cfg.Timing.Transaction)
	defer cancel()
	if _, _, err := session.Client().ProducerID(bounded); err != nil {
		session.Close()
		return nil, fmt.Errorf("take transactional id: %w", s.e.denial("Write", "transactional id "+cfg.transactionalID(), err))
	}
	return kafka.Transactional(session), nil
}

func (s *session) options() []kgo.Opt {
	cfg := &s.e.cfg
	// The client fetches again only when all that it has fetched is taken, so one fetch must not hold so much of the source
	// that what waits in the tiers is overdue before it is seen.
	opts := append([]kgo.Opt{kgo.FetchMaxPartitionBytes(256 << 10), kgo.FetchMaxBytes(8 << 20)}, s.e.clientOptions()...)
	opts = append(opts, s.budget.Options()...)
	return append(opts,
		kgo.ConsumerGroup(cfg.Group),
		kgo.InstanceID(cfg.Membership.Instance),
		kgo.WithHooks(&s.e.pulse),
		kgo.ConsumeTopics(s.e.consumed()...),
		kgo.Balancers(kafka.Balancer{Source: cfg.Source, Announce: cfg.Membership.Announce, OnAssigned: s.onAssignment}),
		kgo.SessionTimeout(cfg.Membership.Session),
		kgo.HeartbeatInterval(cfg.heartbeat()),
		kgo.RebalanceTimeout(s.e.intervals.rejoin),
		kgo.RecordPartitioner(s.partitioner),
		kgo.ProducerBatchMaxBytes(int32(cfg.Limits.RecordBytes+largeRoom)), // the size of batches is our business, see sending
		kgo.WithCompressor(s.layout.limits.Compressor()),
		kgo.ProducerLinger(5*time.Millisecond),
		kgo.MaxBufferedRecords(1<<20), // a transaction is produced in one go; its size is bounded by what partitions hold
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.FetchMaxWait(250*time.Millisecond), // a resumed partition waits for the fetch in flight
		kgo.KeepControlRecords(),               // so that positions reach the end of topics that transactions write
		kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), // a position that is gone: take all that is left, skip nothing
		kgo.BlockRebalanceOnPoll(),                        // what a poll returns belongs to the assignment until AllowRebalance
		kgo.OnOffsetsFetched(s.onOffsets),
		kgo.AdjustFetchOffsetsFn(s.fromStart),
		kgo.OnPartitionsRevoked(s.onGone),
		kgo.OnPartitionsLost(s.onLost),
	)
}

// partitioner keeps the records of co-partitioned topics in their partitions.
func (c *Config) partitioner() *kafka.Partitioner {
	keeps := append([]string{c.DLQ, c.Ordering.StateTopic, c.Dedupe.LedgerTopic, c.Journal.HashChain.HeadTopic}, c.Journal.KeepPartition...)
	for _, t := range c.Retries.Tiers {
		keeps = append(keeps, t.Topic)
	}
	return kafka.NewPartitioner(keeps...)
}
