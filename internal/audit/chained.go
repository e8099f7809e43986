package audit

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/chain"
)

// Chained is the event's record with a place in the chain behind prev, and that place. Operators act one at a time
// (docs/decisions/0002), so their events can be chained; the consumers write the topic side by side, and theirs are not.
func (e Event) Chained(prev chain.Link, topic string, partition int32) (*kgo.Record, chain.Link, error) {
	e.Link = chain.Link{}
	r, err := e.Record(topic, partition)
	if err != nil {
		return nil, chain.Link{}, err
	}
	link, err := prev.Next(r.Value)
	if err != nil {
		return nil, chain.Link{}, err
	}
	text, err := json.Marshal(link)
	if err != nil {
		return nil, chain.Link{}, fmt.Errorf("encode the link of an audit event: %w", err)
	}
	// The link is the last member; the value is an object that is not empty.
	r.Value = slices.Concat(r.Value[:len(r.Value)-1], []byte(`,"chain":`), text, []byte{'}'})
	return r, link, nil
}

// Entry splits the value of an audit record into its link and what the link is over: everything else that
// stands in it, members of later versions too. ok is false for an event without a place in a chain.
func Entry(value []byte) (link chain.Link, entry []byte, ok bool, err error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(value, &members); err != nil {
		return chain.Link{}, nil, false, fmt.Errorf("audit event: %w", err)
	}
	text, ok := members["chain"]
	if !ok {
		return chain.Link{}, nil, false, nil
	}
	if err := json.Unmarshal(text, &link); err != nil {
		return chain.Link{}, nil, false, fmt.Errorf("audit event: chain: %w", err)
	}
	delete(members, "chain")
	entry, err = json.Marshal(members)
	return link, entry, true, err
}
