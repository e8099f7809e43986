package audit

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Chain is one of the chains of hashes in the audit topic. A partition can hold several: each has writers of its own, who write one at
// a time (docs/decisions/0002, 0023), and a head that is kept apart from it. What consumers decide about records they write side by
// side, and that is in no chain but for what governance stopped.
type Chain string

// The chains.
const (
	Operators  Chain = "operators"  // what operators do with dead letters; its heads lie in the status topic of the dead letters
	Orders     Chain = "orders"     // what was ordered for the whole pipeline or a batch; its head lies in the control topic
	Governance Chain = "governance" // what rules about the use of data stopped; its heads lie in the governance topic
)

// Chains returns every chain.
func Chains() []Chain { return []Chain{Operators, Orders, Governance} }

// Head is where a chain ends in one partition, as it is kept apart from its entries.
type Head struct {
	Link
	At string `json:"at"` // when the last entry was made, as it stands in the entry
}

// Place is the place of an entry: which chain it belongs to, and where.
type Place struct {
	Of Chain `json:"of"`
	Link
}

// placeMember is the member of an event that holds its place.
const placeMember = "chain"

// Chained is the event's record with a place in a chain behind prev, and the head that follows from it.
func (e Event) Chained(of Chain, prev Head, topic string, partition int32) (*kgo.Record, Head, error) {
	if err := e.check(); err != nil {
		return nil, Head{}, err
	}
	o := e.object()
	next := prev.NextOf(o)
	o.Place(placeMember, Place{of, next})
	return e.record(topic, partition, o), Head{next, e.Time.UTC().Format(timeLayout)}, nil
}

// Entry splits the value of an audit record into its place and what the place's hash is over: everything else that stands in it,
// members of later versions too. ok is false for an event without a place in a chain.
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
