package retrytopics

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/offsets"
)

// Delivery says what a crash may do to the outputs.
type Delivery string

const (
	// ExactlyOnce commits outputs, retry records, dead letters, journal, memory and offsets in one transaction.
	ExactlyOnce Delivery = "exactly_once"
	// AtLeastOnce is for clusters without transactions: everything is produced and acknowledged before the offsets are
	// committed. Order and tiers are the same; a crash or a rebalance in between produces some records again.
	AtLeastOnce Delivery = "at_least_once"
)

// Deliveries lists every delivery.
func Deliveries() []Delivery { return []Delivery{ExactlyOnce, AtLeastOnce} }

// committer is how a session's group member makes results and positions lasting together.
type committer interface {
	client() *kgo.Client
	// begin opens a unit of work: what is staged after it either commits as a whole or is told not to be.
	begin() error
	// end commits the marks, or gives the unit up. It says whether it was committed; an error means that the committer is
	// beyond repair.
	end(ctx context.Context, marks map[*partition]offsets.Commit, try kgo.TransactionEndTry) (committed bool, err error)
	// clear forgets a rebalance that happened between two units.
	clear(ctx context.Context) error
	close()
}

// transactional is the committer of ExactlyOnce.
type transactional struct{ session *kgo.GroupTransactSession }

func (l transactional) client() *kgo.Client { return l.session.Client() }
func (l transactional) begin() error        { return l.session.Begin() }
func (l transactional) close()              { l.session.Close() }

func (l transactional) end(ctx context.Context, marks map[*partition]offsets.Commit, try kgo.TransactionEndTry) (bool, error) {
	rewrite := func(req *kmsg.TxnOffsetCommitRequest) error {
		ids := map[string][16]byte{}
		for _, t := range req.Topics {
			ids[t.Topic] = t.TopicID
		}
		byTopic := map[string][]kmsg.TxnOffsetCommitRequestTopicPartition{}
		for l, m := range marks {
			p := kmsg.NewTxnOffsetCommitRequestTopicPartition()
			p.Partition, p.Offset, p.LeaderEpoch = l.partition, m.Offset, -1
			text := l.commitText(m)
			p.Metadata = &text
			byTopic[l.topic] = append(byTopic[l.topic], p)
		}
		req.Topics = req.Topics[:0] // the client would commit all that was polled
		for topic, partitions := range byTopic {
			t := kmsg.NewTxnOffsetCommitRequestTopic()
			t.Topic, t.TopicID, t.Partitions = topic, ids[topic], partitions
			req.Topics = append(req.Topics, t)
		}
		return nil
	}
	return l.session.End(kgo.PreTxnCommitFnContext(ctx, rewrite), try)
}

// clear ends an empty transaction: the session would abort the first one after a rebalance otherwise.
func (l transactional) clear(ctx context.Context) error {
	if err := l.session.Begin(); err != nil {
		return err
	}
	_, err := l.session.End(ctx, kgo.TryAbort)
	return err
}

// plain is the committer of AtLeastOnce.
type plain struct{ kafka *kgo.Client }

func (l plain) client() *kgo.Client         { return l.kafka }
func (l plain) begin() error                { return nil }
func (l plain) clear(context.Context) error { return nil }
func (l plain) close()                      { l.kafka.CloseAllowingRebalance() }

func (l plain) end(ctx context.Context, marks map[*partition]offsets.Commit, try kgo.TransactionEndTry) (bool, error) {
	if try == kgo.TryAbort {
		return false, nil
	}
	offsets := map[string]map[int32]kgo.EpochOffset{}
	metadata := map[topicPartition]string{}
	for l, m := range marks {
		if offsets[l.topic] == nil {
			offsets[l.topic] = map[int32]kgo.EpochOffset{}
		}
		offsets[l.topic][l.partition] = from(m.Offset)
		metadata[l.topicPartition] = l.commitText(m)
	}
	if len(offsets) == 0 {
		return true, nil
	}
	describe := func(req *kmsg.OffsetCommitRequest) error {
		for i := range req.Topics {
			for j := range req.Topics[i].Partitions {
				p := &req.Topics[i].Partitions[j]
				text := metadata[topicPartition{req.Topics[i].Topic, p.Partition}]
				p.Metadata = &text
			}
		}
		return nil
	}
	var failure error
	l.kafka.CommitOffsetsSync(kgo.PreCommitFnContext(ctx, describe), offsets,
		func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, err error) {
			failure = commitError(resp, err)
		})
	switch {
	case failure == nil:
		return true, nil
	case errors.Is(failure, kerr.IllegalGeneration), errors.Is(failure, kerr.UnknownMemberID), errors.Is(failure, kerr.RebalanceInProgress),
		errors.Is(failure, kerr.StaleMemberEpoch):
		return false, nil // the partitions have another owner; the work is done again
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
