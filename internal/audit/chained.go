package audit

import (
	"encoding/json"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/chain"
)

// The members that hold an event's place in its chain. A partition of the audit topic can hold several chains, each with
// writers of its own, who write one at a time (docs/decisions/0002, 0023). What consumers decide about records they write
// side by side, and that is in no chain but for the ledger of package governance.
const (
	operatorsMember = "chain"  // what operators do with dead letters
	ordersMember    = "orders" // what was ordered for the whole pipeline, or a batch
)

// Chained is the event's record with a place in the chain of operators behind prev, and that place.
func (e Event) Chained(prev chain.Link, topic string, partition int32) (*kgo.Record, chain.Link, error) {
	return e.chained(operatorsMember, prev, topic, partition)
}

// Ordered does what [Event.Chained] does, in the chain of orders.
func (e Event) Ordered(prev chain.Link, topic string, partition int32) (*kgo.Record, chain.Link, error) {
	return e.chained(ordersMember, prev, topic, partition)
}

func (e Event) chained(member string, prev chain.Link, topic string, partition int32) (*kgo.Record, chain.Link, error) {
	if err := e.check(); err != nil {
		return nil, chain.Link{}, err
	}
	o := e.object()
	link := prev.NextOf(o)
	o.Link(member, link)
	return e.record(topic, partition, o), link, nil
}

// Entry splits the value of an audit record into its link in the chain of operators and what the link is over: everything else
// that stands in it, members of later versions too. ok is false for an event without a place in that chain.
func Entry(value []byte) (link chain.Link, entry []byte, ok bool, err error) {
	return entryOf(operatorsMember, value)
}

// OrderEntry does what [Entry] does, for the chain of orders.
func OrderEntry(value []byte) (link chain.Link, entry []byte, ok bool, err error) {
	return entryOf(ordersMember, value)
}

func entryOf(member string, value []byte) (link chain.Link, entry []byte, ok bool, err error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(value, &members); err != nil {
		return chain.Link{}, nil, false, fmt.Errorf("audit event: %w", err)
	}
	text, ok := members[member]
	if !ok {
		return chain.Link{}, nil, false, nil
	}
	if err := json.Unmarshal(text, &link); err != nil {
		return chain.Link{}, nil, false, fmt.Errorf("audit event: %s: %w", member, err)
	}
	delete(members, member)
	entry, err = json.Marshal(members)
	return link, entry, true, err
}
