package audit

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Chain is one of the hash chains in the audit topic. A partition can have several. Each has its own writers, who
// write one at a time (docs/decisions/0002, 0023), and a head that is stored elsewhere. Consumers write their
// decisions about records concurrently; of these, only records stopped by governance are in a chain.
type Chain string

// The chains.
const (
	Operators  Chain = "operators"  // what operators do with dead letters; its heads are in the dead letters' status topic
	Orders     Chain = "orders"     // orders for the whole pipeline or a batch; its head is in the control topic
	Governance Chain = "governance" // records that rules about the use of data stopped; its heads are in the governance topic
)

// Chains returns every chain.
func Chains() []Chain { return []Chain{Operators, Orders, Governance} }

// Head is the end of a chain in one partition, stored separately from the entries.
type Head struct {
	Link
	At string `json:"at"` // time of the last entry, as it is written there
}

// Place is the chain of an entry, and its position in it.
type Place struct {
	Of Chain `json:"of"`
	Link
}

// placeMember is the member of an event with its place.
const placeMember = "chain"

// Chained returns the event's record with a place in a chain after prev, and the new head.
func (e Event) Chained(of Chain, prev Head, topic string, partition int32) (*kgo.Record, Head, error) {
	if err := e.check(); err != nil {
		return nil, Head{}, err
	}
	o := e.object()
	next := prev.NextOf(o)
	o.Place(placeMember, Place{of, next})
	return e.record(topic, partition, o), Head{next, e.Time.UTC().Format(timeLayout)}, nil
}

// Entry splits the value of an audit record into its place and the bytes that the place's hash covers: everything else,
// including members of later versions. ok is false for an event without a place in a chain.
func Entry(value []byte) (place Place, entry []byte, ok bool, err error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(value, &members); err != nil {
		return Place{}, nil, false, fmt.Errorf("audit event: %w", err)
	}
	text, ok := members[placeMember]
	if !ok {
		return Place{}, nil, false, nil
	}
	if err := json.Unmarshal(text, &place); err != nil {
		return Place{}, nil, false, fmt.Errorf("audit event: %s: %w", placeMember, err)
	}
	if !slices.Contains(Chains(), place.Of) {
		return Place{}, nil, false, fmt.Errorf("audit event: unknown chain %q; use one of %v", string(place.Of), Chains())
	}
	delete(members, placeMember)
	entry, err = json.Marshal(members)
	return place, entry, true, err
}
