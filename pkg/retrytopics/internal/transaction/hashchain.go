package transaction

import (
	"bytes"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/partition"
)

// headKey is the key of a head; each partition has one.
const headKey = "head"

// Extend returns the records that a batch adds to the hash chains of its partitions, and stores the new heads in the
// batch.
func (st *Content) Extend(chain retrytopics.HashChain) ([]*kgo.Record, error) {
	if !chain.On() {
		return nil, nil
	}
	events := map[*partition.State][]*retrytopics.Event{}
	var order []*partition.State
	for _, task := range st.Tasks {
		state := task.From.State
		if events[state] == nil {
			order = append(order, state)
		}
		events[state] = append(events[state], &task.Event)
	}
	var records []*kgo.Record
	for _, state := range order {
		more, next, err := chain.Extend(state.Partition, state.Head, events[state])
		if err != nil {
			return nil, fmt.Errorf("extend the hash chain of partition %d: %w", state.Partition, err)
		}
		if bytes.Equal(next, state.Head) {
			continue
		}
		records = append(append(records, more...), &kgo.Record{Topic: chain.HeadTopic, Partition: state.Partition, Key: []byte(headKey), Value: next})
		st.Heads[state] = next
	}
	return records, nil
}
