package retrytopics

import (
	"bytes"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"
)

// HashChain adds records to transactions that depend on earlier ones of the same partition, such as the links of a hash
// chain. A Journal cannot: attempts end concurrently, and some transactions abort. A partition has one owner at a time,
// and each transaction contains the head that it moves, so the chain has no gap and no fork, whatever crashes. It needs
// ExactlyOnce.
type HashChain struct {
	// HeadTopic is compacted, has the partitions of the source, and keeps the head of each. Empty: there is no hash
	// chain.
	HeadTopic string
	// Extend returns the records that a transaction adds for one partition, and the new head. head is that of the last
	// committed transaction, nil at first; events are the partition's events in the order in which they ended. It is
	// called from one goroutine, and again for the same events after an abort. An unchanged head adds nothing.
	Extend func(partition int32, head []byte, events []*Event) (records []*kgo.Record, next []byte, err error)
}

func (t HashChain) on() bool { return t.HeadTopic != "" }

// headKey is the key of a head; each partition has one.
const headKey = "head"

func (t HashChain) faults(d Delivery) []error {
	var faults []error
	if t.on() && t.Extend == nil {
		faults = append(faults, fmt.Errorf("Trail has the topic %s and no Extend", t.HeadTopic))
	}
	if t.on() && d != ExactlyOnce {
		faults = append(faults, fmt.Errorf("Trail needs the delivery %s; with %s a crash would fork it", ExactlyOnce, d))
	}
	return faults
}

// extend returns the records that a batch adds to the hash chains of its partitions, and stores the new heads in the
// batch.
func (t HashChain) extend(st *staged) ([]*kgo.Record, error) {
	if !t.on() {
		return nil, nil
	}
	events := map[*partitionState][]*Event{}
	var order []*partitionState
	for _, task := range st.tasks {
		state := task.from.state
		if events[state] == nil {
			order = append(order, state)
		}
		events[state] = append(events[state], &task.event)
	}
	var records []*kgo.Record
	for _, state := range order {
		more, next, err := t.Extend(state.partition, state.head, events[state])
		if err != nil {
			return nil, fmt.Errorf("extend the hash chain of partition %d: %w", state.partition, err)
		}
		if bytes.Equal(next, state.head) {
			continue
		}
		records = append(append(records, more...), &kgo.Record{Topic: t.HeadTopic, Partition: state.partition, Key: []byte(headKey), Value: next})
		st.heads[state] = next
	}
	return records, nil
}
