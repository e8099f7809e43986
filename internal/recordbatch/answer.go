package recordbatch

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Where the fields of an entry lie that all formats have.
const (
	entryHead = 12 // offset and length
	magicAt   = 16
	leastHead = 17
)

// entry is a batch, or a message set of format 0 or 1, as it lies in an answer.
type entry struct {
	first  int64 // its offset; of a compressed message set, that of its last message
	magic  byte
	stored []byte
}

// nextEntry cuts the next entry off an answer. ok is false at its end, where a broker may cut one in two.
func nextEntry(answer []byte) (e entry, rest []byte, ok bool) {
	if len(answer) < leastHead {
		return entry{}, nil, false
	}
	n := int64(int32(binary.BigEndian.Uint32(answer[8:]))) + entryHead
	if n < leastHead || n > int64(len(answer)) {
		return entry{}, nil, false
	}
	return entry{first: int64(binary.BigEndian.Uint64(answer)), magic: answer[magicAt], stored: answer[:n:n]}, answer[n:], true
}

// The bits of a batch's attributes.
const (
	codecBits     = 0x07
	transactional = 0x10
	controlling   = 0x20
)

// aborted knows which transactions of an answer were aborted: of each producer, the first offsets in ascending order.
type aborted map[int64][]int64

func abortedOf(answer *kmsg.FetchResponseTopicPartition) aborted {
	a := aborted{}
	for _, t := range answer.AbortedTransactions {
		a[t.ProducerID] = append(a[t.ProducerID], t.FirstOffset)
	}
	for _, offsets := range a {
		slices.Sort(offsets) // not every broker sends them so
	}
	return a
}

// covers reports whether a batch belongs to an aborted transaction. Batches are asked for in the order of the log.
func (a aborted) covers(b *kmsg.RecordBatch) bool {
	of := a[b.ProducerID]
	return b.Attributes&transactional != 0 && len(of) > 0 && b.FirstOffset >= of[0]
}

// abortMarker is the type of a control record that ends an aborted transaction.
const abortMarker = 0

// pass takes note of a control batch: behind its marker, the next transaction of its producer begins. A transaction that wrote
// nothing to this partition has a marker here and is not among the aborted ones: the next of them begins behind the marker, and
// stays. A broker that stops in the middle of a transaction leaves such markers.
func (a aborted) pass(b *kmsg.RecordBatch) {
	of := a[b.ProducerID]
	if len(of) == 0 || of[0] > b.FirstOffset {
		return
	}
	var marker kmsg.Record
	if marker.ReadFrom(b.Records) != nil {
		return
	}
	if key := marker.Key; len(key) >= 4 && binary.BigEndian.Uint16(key[2:]) == abortMarker {
		a[b.ProducerID] = of[1:]
	}
}

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
