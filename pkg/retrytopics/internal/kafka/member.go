package kafka

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/switchback-geo/switchback/internal/recordbatch"
)

// Member is an instance in its consumer group. It is a static member under its name. After a crash, a lost broker or a
// kill it takes over its own membership and partitions at once; a new member would wait for the old one's session
// timeout.
type Member struct {
	*Access
	Group, Instance string
	Session         time.Duration // the group takes partitions from a member silent for so long
	Rejoin          time.Duration // how long the group waits for the member in a rebalance
	Topics          []string      // consumed
	Balancer        Balancer
	Partitioner     *Partitioner
	Budget          *recordbatch.Budget // of what the client decompresses
	Limits          *Limits
	RecordBytes     int // of the largest produced record
	Pulse           *Pulse

	OnOffsets func(context.Context, *kgo.Client, *kmsg.OffsetFetchResponse) error
	Adjust    func(context.Context, map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) // of the fetched offsets
	OnRevoked func(context.Context, *kgo.Client, map[string][]int32)
	OnLost    func(context.Context, *kgo.Client, map[string][]int32)
}

// Join returns the committer of a member without transactions.
func (m *Member) Join() (Committer, error) {
	client, err := kgo.NewClient(append(m.options(), kgo.DisableAutoCommit())...)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrOptions, err)
	}
	return Plain(client), nil
}

// JoinTransactional returns the committer of a member with a transactional ID. The broker aborts a transaction after
// timeout.
func (m *Member) JoinTransactional(ctx context.Context, id string, timeout time.Duration) (Committer, error) {
	session, err := kgo.NewGroupTransactSession(append(m.options(),
		kgo.TransactionalID(id),
		kgo.TransactionTimeout(timeout),
		kgo.ConcurrentTransactionsBackoff(2*time.Millisecond), // the default of 20 ms costs most of a small transaction
	)...)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrOptions, err)
	}
	// Taking the transactional ID now ends a predecessor's open transaction at once. Otherwise the offsets in it could not
	// be read before its timeout.
	bounded, cancel := context.WithTimeout(ctx, 2*timeout)
	defer cancel()
	if _, _, err := session.Client().ProducerID(bounded); err != nil {
		session.Close()
		return nil, fmt.Errorf("take transactional id: %w", m.Denial("Write", "transactional id "+id, err))
	}
	return newTransactional(session), nil
}

func (m *Member) options() []kgo.Opt {
	// The client fetches again only when it has returned everything. Therefore one fetch must not contain so much of
	// the source that records in the tiers are overdue before they are seen.
	opts := append([]kgo.Opt{kgo.FetchMaxPartitionBytes(256 << 10), kgo.FetchMaxBytes(8 << 20)}, m.ClientOptions()...)
	opts = append(opts, m.Budget.Options()...)
	return append(opts,
		kgo.ConsumerGroup(m.Group),
		kgo.InstanceID(m.Instance),
		kgo.WithHooks(m.Pulse),
		kgo.ConsumeTopics(m.Topics...),
		kgo.Balancers(m.Balancer),
		kgo.SessionTimeout(m.Session),
		kgo.HeartbeatInterval(heartbeat(m.Session)),
		kgo.RebalanceTimeout(m.Rejoin),
		kgo.RecordPartitioner(m.Partitioner),
		kgo.ProducerBatchMaxBytes(int32(m.RecordBytes)), // Sending decides the size of batches
		kgo.WithCompressor(m.Limits.Compressor()),
		kgo.ProducerLinger(5*time.Millisecond),
		kgo.MaxBufferedRecords(1<<20), // a transaction is produced in one go; its size is bounded by what partitions hold
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.FetchMaxWait(250*time.Millisecond), // a resumed partition waits for the fetch in flight
		kgo.KeepControlRecords(),               // so that positions reach the end of topics that transactions write
		kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), // a committed position before the log start: read everything that is left
		kgo.BlockRebalanceOnPoll(),                        // what a poll returns belongs to the assignment until AllowRebalance
		kgo.OnOffsetsFetched(m.OnOffsets),
		kgo.AdjustFetchOffsetsFn(m.Adjust),
		kgo.OnPartitionsRevoked(m.OnRevoked),
		kgo.OnPartitionsLost(m.OnLost),
	)
}

// Recommit commits positions that the group has lost, so that tools and lag metrics show them. It is not part of a
// transaction: no records belong to it. id returns the ID of a topic.
func (m *Member) Recommit(ctx context.Context, client *kgo.Client, points []CommitPoint, id func(topic string) [16]byte) error {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group = m.Group
	req.MemberID, req.Generation = client.GroupMetadata()
	req.InstanceID = &m.Instance
	byTopic := map[string][]kmsg.OffsetCommitRequestTopicPartition{}
	for i := range points {
		p := kmsg.NewOffsetCommitRequestTopicPartition()
		p.Partition, p.Offset, p.LeaderEpoch, p.Metadata = points[i].Partition, points[i].Offset, -1, &points[i].Metadata
		byTopic[points[i].Topic] = append(byTopic[points[i].Topic], p)
	}
	for topic, partitions := range byTopic {
		t := kmsg.NewOffsetCommitRequestTopic()
		t.Topic, t.TopicID, t.Partitions = topic, id(topic), partitions
		req.Topics = append(req.Topics, t)
	}
	resp, err := req.RequestWith(ctx, client)
	if err != nil {
		return fmt.Errorf("commit the positions of the checkpoint: %w", err)
	}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return fmt.Errorf("commit the positions of the checkpoint: partition %d: %w", p.Partition, m.Denial("Read", "group "+m.Group, err))
			}
		}
	}
	return nil
}

// leaveTimeout bounds the leave request.
const leaveTimeout = 2 * time.Second

// Leave removes a membership from its group. The request has the member ID besides the instance's name, so that it does
// not remove a successor of the same name.
func (a *Access) Leave(ctx context.Context, group, instance, member string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
	defer cancel()
	client, err := kgo.NewClient(a.ClientOptions()...)
	if err != nil {
		return err
	}
	defer client.Close()
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Group, req.MemberID = group, member
	who := kmsg.NewLeaveGroupRequestMember()
	who.MemberID, who.InstanceID = member, &instance
	req.Members = append(req.Members, who)
	left, err := req.RequestWith(ctx, client)
	if err != nil {
		return err
	}
	err = kerr.ErrorForCode(left.ErrorCode)
	for _, m := range left.Members {
		err = errors.Join(err, kerr.ErrorForCode(m.ErrorCode))
	}
	if errors.Is(err, kerr.UnknownMemberID) || errors.Is(err, kerr.FencedInstanceID) {
		return nil // another member has the name by now, or no member has it
	}
	return err
}
