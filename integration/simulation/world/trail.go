package world

import (
	"encoding/json"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/integration/simulation/judge"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// extend returns the link of a partition's hash chain for a transaction.
func extend(partition int32, head []byte, events []*retrytopics.Event) ([]*kgo.Record, []byte, error) {
	var before judge.Link
	if head != nil {
		if err := json.Unmarshal(head, &before); err != nil {
			return nil, nil, err
		}
	}
	link := judge.Link{Number: before.Number + 1}
	if before.Number > 0 {
		link.Before = before.Hash()
	}
	for _, e := range events {
		link.Steps = append(link.Steps, judge.Step(position(e.Record), string(e.Decision.Outcome)))
	}
	text, err := json.Marshal(link)
	return []*kgo.Record{{Topic: Trail, Partition: partition, Value: text}}, text, err
}
