package batch

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Place is an offset of a partition.
type Place struct {
	Topic     string
	TopicID   [16]byte // newer brokers know topics by it
	Partition int32
	Offset    int64
}

// fetchWaitMillis is how long the broker may wait for data; there is some.
const fetchWaitMillis = 500

// OpenLarge fetches the batch that holds an offset, as a reader with read_committed sees it, and begins to read it.
// Records longer than maxRecord bytes are described, not returned. The error is the broker's or the network's.
func OpenLarge(ctx context.Context, client *kgo.Client, at Place, maxRecord int) (*Large, error) {
	answer, err := fetch(ctx, client, at)
	if err != nil {
		return nil, fmt.Errorf("fetch the batch at %s/%d/%d: %w", at.Topic, at.Partition, at.Offset, err)
	}
	head, err := first(answer.RecordBatches, at.Offset)
	if err != nil {
		return nil, fmt.Errorf("the batch at %s/%d/%d: %w", at.Topic, at.Partition, at.Offset, err)
	}
	return open(at.Topic, at.Partition, head, aborted(answer, &head), maxRecord), nil
}

// fetch asks the partition's leader for one batch: a broker sends the first one whole, however little is asked for.
func fetch(ctx context.Context, client *kgo.Client, at Place) (*kmsg.FetchResponseTopicPartition, error) {
	leader, _, err := client.PartitionLeader(at.Topic, at.Partition)
	if err != nil {
		return nil, err
	}
	partition := kmsg.NewFetchRequestTopicPartition()
	partition.Partition, partition.FetchOffset, partition.PartitionMaxBytes = at.Partition, at.Offset, 1
	topic := kmsg.NewFetchRequestTopic()
	topic.Topic, topic.TopicID, topic.Partitions = at.Topic, at.TopicID, []kmsg.FetchRequestTopicPartition{partition}
	req := kmsg.NewPtrFetchRequest()
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes = fetchWaitMillis, 1, 1
	req.IsolationLevel, req.Topics = 1, []kmsg.FetchRequestTopic{topic}
	raw, err := client.Broker(int(leader)).RetriableRequest(ctx, req)
	if err != nil {
		return nil, err
	}
	answer, ok := raw.(*kmsg.FetchResponse)
	if !ok || len(answer.Topics) != 1 || len(answer.Topics[0].Partitions) != 1 {
		return nil, errors.New("the broker's answer is for no partition or for several")
	}
	p := &answer.Topics[0].Partitions[0]
	return p, errors.Join(kerr.ErrorForCode(answer.ErrorCode), kerr.ErrorForCode(p.ErrorCode))
}

// first gives the batch that holds an offset.
func first(raw []byte, offset int64) (kmsg.RecordBatch, error) {
	var b kmsg.RecordBatch
	if err := b.ReadFrom(raw); err != nil {
		return b, fmt.Errorf("%d bytes that are no whole batch: %w", len(raw), err)
	}
	switch last := b.FirstOffset + int64(b.LastOffsetDelta); {
	case b.Magic != 2:
		return b, fmt.Errorf("message format %d; formats before 2 have no batches of this size", b.Magic)
	case offset < b.FirstOffset || offset > last:
		return b, fmt.Errorf("the broker sent the offsets %d to %d", b.FirstOffset, last)
	}
	return b, nil
}

// aborted says whether the batch belongs to a transaction that was aborted. The broker lists the aborted transactions of
// what it sent, by producer and first offset; a producer has one transaction at a time.
func aborted(answer *kmsg.FetchResponseTopicPartition, head *kmsg.RecordBatch) bool {
	const transactional = 0x10
	return head.Attributes&transactional != 0 && slices.ContainsFunc(answer.AbortedTransactions, func(t kmsg.FetchResponseTopicPartitionAbortedTransaction) bool {
		return t.ProducerID == head.ProducerID && t.FirstOffset <= head.FirstOffset
	})
}
