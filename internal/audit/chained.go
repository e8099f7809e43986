package audit

import (
	"encoding/json"
	"fmt"

	"github.com/switchback-geo/switchback/internal/chain"
)

// Chained gives the event its place behind prev. Operators act one at a time (docs/decisions/0002), so
// their events can be chained; the consumers write the topic side by side, and theirs are not.
func (e Event) Chained(prev chain.Link) (Event, error) {
	e.Link = chain.Link{}
	entry, err := json.Marshal(e.wire())
	if err != nil {
		return Event{}, fmt.Errorf("encode audit event %q of %s: %w", e.Decision, e.Source, err)
	}
	e.Link, err = prev.Next(entry)
	return e, err
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
