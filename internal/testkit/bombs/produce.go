package bombs

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Produce sends a batch to a partition unchanged and returns the offset of its first record.
func Produce(ctx context.Context, cl *kgo.Client, topic string, partition int32, b *kmsg.RecordBatch) (int64, error) {
	details, err := kadm.NewClient(cl).ListTopics(ctx, topic)
	if err != nil {
		return 0, err
	}
	part := kmsg.NewProduceRequestTopicPartition()
	part.Partition, part.Records = partition, Bytes(b)
	of := kmsg.NewProduceRequestTopic()
	of.Topic, of.TopicID, of.Partitions = topic, details[topic].ID, []kmsg.ProduceRequestTopicPartition{part}
	req := kmsg.NewProduceRequest()
	req.Acks, req.TimeoutMillis, req.Topics = -1, 60_000, []kmsg.ProduceRequestTopic{of}
	raw, err := cl.Broker(int(details[topic].Partitions[partition].Leader)).RetriableRequest(ctx, &req)
	if err != nil {
		return 0, fmt.Errorf("produce a batch to %s/%d: %w", topic, partition, err)
	}
	answer := raw.(*kmsg.ProduceResponse).Topics[0].Partitions[0]
	return answer.BaseOffset, kerr.ErrorForCode(answer.ErrorCode)
}
