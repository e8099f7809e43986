package kafka

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/offsets"
)

// CommitPoint is the position that is committed for one partition.
type CommitPoint struct {
	Topic     string
	Partition int32
	offsets.Commit
}

// Committer makes a group member's results and positions durable together.
type Committer interface {
	Client() *kgo.Client
	// Begin starts a unit of work: everything produced after it commits as a whole or not at all.
	Begin() error
	// End commits the points or aborts the unit, and reports whether it was committed. An error means that the
	// committer can no longer be used.
	End(ctx context.Context, points []CommitPoint, try kgo.TransactionEndTry) (committed bool, err error)
	// Clear forgets a rebalance between two units.
	Clear(ctx context.Context) error
	Close()
}

// newTransactional returns the committer that commits records and positions in one transaction.
func newTransactional(session *kgo.GroupTransactSession) Committer { return transactional{session} }

type transactional struct{ session *kgo.GroupTransactSession }

func (c transactional) Client() *kgo.Client { return c.session.Client() }
func (c transactional) Begin() error        { return c.session.Begin() }
func (c transactional) Close()              { c.session.Close() }

func (c transactional) End(ctx context.Context, points []CommitPoint, try kgo.TransactionEndTry) (bool, error) {
	rewrite := func(req *kmsg.TxnOffsetCommitRequest) error {
		ids := map[string][16]byte{}
		for _, t := range req.Topics {
			ids[t.Topic] = t.TopicID
		}
		byTopic := map[string][]kmsg.TxnOffsetCommitRequestTopicPartition{}
		for i := range points {
			p := kmsg.NewTxnOffsetCommitRequestTopicPartition()
			p.Partition, p.Offset, p.LeaderEpoch, p.Metadata = points[i].Partition, points[i].Offset, -1, &points[i].Metadata
			byTopic[points[i].Topic] = append(byTopic[points[i].Topic], p)
		}
		req.Topics = req.Topics[:0] // the client would commit everything it has polled
		for topic, partitions := range byTopic {
			t := kmsg.NewTxnOffsetCommitRequestTopic()
			t.Topic, t.TopicID, t.Partitions = topic, ids[topic], partitions
			req.Topics = append(req.Topics, t)
		}
		return nil
	}
	return c.session.End(kgo.PreTxnCommitFnContext(ctx, rewrite), try)
}

// Clear ends an empty transaction; otherwise the session would abort the first one after a rebalance.
func (c transactional) Clear(ctx context.Context) error {
	if err := c.session.Begin(); err != nil {
		return err
	}
	_, err := c.session.End(ctx, kgo.TryAbort)
	return err
}

// Plain returns the committer for clusters without transactions: positions are committed after the records.
func Plain(client *kgo.Client) Committer { return plain{client} }

type plain struct{ client *kgo.Client }

func (c plain) Client() *kgo.Client         { return c.client }
func (c plain) Begin() error                { return nil }
func (c plain) Clear(context.Context) error { return nil }
func (c plain) Close()                      { c.client.CloseAllowingRebalance() }

func (c plain) End(ctx context.Context, points []CommitPoint, try kgo.TransactionEndTry) (bool, error) {
	if try == kgo.TryAbort {
		return false, nil
	}
	if len(points) == 0 {
		return true, nil
	}
	at := map[string]map[int32]kgo.EpochOffset{}
	metadata := map[string]map[int32]string{}
	for _, p := range points {
		if at[p.Topic] == nil {
			at[p.Topic], metadata[p.Topic] = map[int32]kgo.EpochOffset{}, map[int32]string{}
		}
		at[p.Topic][p.Partition] = kgo.EpochOffset{Epoch: -1, Offset: p.Offset}
		metadata[p.Topic][p.Partition] = p.Metadata
	}
	describe := func(req *kmsg.OffsetCommitRequest) error {
		for i := range req.Topics {
			for j := range req.Topics[i].Partitions {
				p := &req.Topics[i].Partitions[j]
				text := metadata[req.Topics[i].Topic][p.Partition]
				p.Metadata = &text
			}
		}
		return nil
	}
	var failure error
	c.client.CommitOffsetsSync(kgo.PreCommitFnContext(ctx, describe), at,
		func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, err error) {
			failure = commitError(resp, err)
		})
	switch {
	case failure == nil:
		return true, nil
	case errors.Is(failure, kerr.IllegalGeneration), errors.Is(failure, kerr.UnknownMemberID), errors.Is(failure, kerr.RebalanceInProgress),
		errors.Is(failure, kerr.StaleMemberEpoch):
		return false, nil // the partitions have another owner, which does the work again
	}
	return false, fmt.Errorf("commit offsets: %w", failure)
}

func commitError(resp *kmsg.OffsetCommitResponse, err error) error {
	if err != nil || resp == nil {
		return err
	}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return fmt.Errorf("topic %s partition %d: %w", t.Topic, p.Partition, err)
			}
		}
	}
	return nil
}
