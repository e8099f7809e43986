package recordbatch

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Offsets of the fields of an entry that all formats have.
const (
	entryHead = 12 // offset and length
	magicAt   = 16
	leastHead = 17
)

// entry is a batch, or a message set of format 0 or 1, as it is in a fetch response.
type entry struct {
	first  int64 // its offset; for a compressed message set, the one of its last message
	magic  byte
	stored []byte
}

// nextEntry cuts the next entry off a response. ok is false at the end, where a broker may cut an entry in two.
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

// aborted has the aborted transactions of a response: the first offsets of each producer's, in ascending order.
type aborted map[int64][]int64

func abortedOf(answer *kmsg.FetchResponseTopicPartition) aborted {
	a := aborted{}
	for _, t := range answer.AbortedTransactions {
		a[t.ProducerID] = append(a[t.ProducerID], t.FirstOffset)
	}
	for _, offsets := range a {
		slices.Sort(offsets) // not every broker sorts them
	}
	return a
}

// covers reports whether a batch belongs to an aborted transaction. The caller must pass batches in the order of the
// log.
func (a aborted) covers(b *kmsg.RecordBatch) bool {
	of := a[b.ProducerID]
	return b.Attributes&transactional != 0 && len(of) > 0 && b.FirstOffset >= of[0]
}

// abortMarker is the type of a control record that ends an aborted transaction.
const abortMarker = 0

// pass processes a control batch: after its abort marker, the next aborted transaction of its producer begins. A
// transaction that wrote nothing to this partition has a marker too, but is not in the list. Then the next aborted
// transaction begins after the marker and stays in the list. A broker that stops in the middle of a transaction
// leaves such markers.
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

// waitMillis is how long a broker may wait if there are no records.
const waitMillis = 500

// Request returns a fetch request to the leader of a partition from an offset on, with read_committed. The response has
// at most this many bytes, but always a whole batch. Newer brokers identify a topic by its ID.
func Request(topic string, id [16]byte, partition int32, offset int64, limit int32) *kmsg.FetchRequest {
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition, p.FetchOffset, p.PartitionMaxBytes = partition, offset, limit
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.TopicID, t.Partitions = topic, id, []kmsg.FetchRequestTopicPartition{p}
	req := kmsg.NewPtrFetchRequest()
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes = waitMillis, 1, limit
	req.IsolationLevel, req.Topics = 1, []kmsg.FetchRequestTopic{t}
	return req
}

// AnswerOf returns a partition's part of the response to a [Request]. It has no batch if the response does not
// mention the partition. The error is that of the whole response; the part may have an error of its own.
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
