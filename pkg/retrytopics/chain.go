package retrytopics

import (
	"bytes"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"
)

// headKey is the key of a head; each partition has one.
const headKey = "head"

// extend returns the records that a batch adds to the hash chains of its partitions, and stores the new heads in the
// batch.
func (st *staged) extend(chain HashChain) ([]*kgo.Record, error) {
	if !chain.On() {
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
		more, next, err := chain.Extend(state.partition, state.head, events[state])
		if err != nil {
			return nil, fmt.Errorf("extend the hash chain of partition %d: %w", state.partition, err)
		}
		if bytes.Equal(next, state.head) {
			continue
		}
		records = append(append(records, more...), &kgo.Record{Topic: chain.HeadTopic, Partition: state.partition, Key: []byte(headKey), Value: next})
		st.heads[state] = next
	}
	return records, nil
}
