package recordbatch

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// waitMillis is how long a broker may wait when nothing is there.
const waitMillis = 500

// Request asks the leader of a partition for what lies at an offset and behind it, as a reader with read_committed sees it: at most so
// many bytes, but always one whole batch. Newer brokers know a topic by its id.
func Request(topic string, id [16]byte, partition int32, offset int64, most int32) *kmsg.FetchRequest {
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition, p.FetchOffset, p.PartitionMaxBytes = partition, offset, most
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.TopicID, t.Partitions = topic, id, []kmsg.FetchRequestTopicPartition{p}
	req := kmsg.NewPtrFetchRequest()
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes = waitMillis, 1, most
	req.IsolationLevel, req.Topics = 1, []kmsg.FetchRequestTopic{t}
	return req
}

// AnswerOf takes the answer to a [Request] out of a response. It has no batch when the response says nothing about the partition. The
// error is the response's; the answer may have one of its own.
func AnswerOf(response kmsg.Response, partition int32) (*kmsg.FetchResponseTopicPartition, error) {
	fetched, ok := response.(*kmsg.FetchResponse)
	if !ok {
		return nil, fmt.Errorf("unexpected answer %T to a fetch request", response)
	}
	if err := kerr.ErrorForCode(fetched.ErrorCode); err != nil {
		return nil, err
	}
	for i := range fetched.Topics {
		for j := range fetched.Topics[i].Partitions {
			if p := &fetched.Topics[i].Partitions[j]; p.Partition == partition {
				return p, nil
			}
		}
	}
	return &kmsg.FetchResponseTopicPartition{Partition: partition}, nil
}
