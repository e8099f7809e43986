package statetopic

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/keyorder"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// stateFormat is the version of the state record's format. A record with another one is refused.
const stateFormat = 1

// ErrNewer is wrapped when a newer version of this library wrote a state record. The order of its key is then
// unknown, so the partition does not start.
var ErrNewer = errors.New("the state was written by a newer version; upgrade this instance")

// stateJSON is the value of a record in the state topic.
type stateJSON struct {
	Format    int              `json:"format"`
	Next      int64            `json:"next,omitempty"`
	Last      int64            `json:"last,omitempty"`
	Tier      int              `json:"tier,omitempty"` // index, from 0
	Due       string           `json:"due,omitempty"`
	Held      string           `json:"held,omitempty"`
	Parts     keyorder.PartSet `json:"held_parts,omitempty"`
	Remaining bool             `json:"held_rest,omitempty"`
	Waiting   int64            `json:"waiting,omitempty"`
	Letters   int64            `json:"dead_letters,omitempty"`
	Applied   *header.Version  `json:"applied,omitempty"`
	Deleted   int64            `json:"deleted,omitempty"`
	Scale     Scale            `json:"scale,omitempty"` // of Applied
}

// EncodeOrder returns the state record of a key; it is a tombstone if there is nothing to remember.
func EncodeOrder(topic string, partition int32, k string, st keyorder.State, scale Scale) (*kgo.Record, error) {
	r := &kgo.Record{Topic: topic, Partition: partition, Key: OrderKey(k)}
	if st == (keyorder.State{}) {
		return r, nil
	}
	w := stateJSON{Format: stateFormat, Parts: st.HeldParts, Remaining: st.HeldRemaining, Next: st.Next, Last: st.Last, Tier: st.Tier, Held: st.Held,
		Waiting: st.Waiting, Letters: st.DeadLetters, Applied: st.Applied, Deleted: st.Deleted}
	if !st.Due.IsZero() {
		w.Due = header.FormatTime(st.Due)
	}
	if st.Applied != nil {
		w.Scale = scale
	}
	value, err := json.Marshal(w)
	if err != nil {
		return nil, fmt.Errorf("encode the state of a key: %w", err)
	}
	r.Value = value
	return r, nil
}

// DecodeOrder parses the value of a state record, on the reader's scale.
func DecodeOrder(value []byte, scale Scale) (keyorder.State, error) {
	var w stateJSON
	if err := json.Unmarshal(value, &w); err != nil {
		return keyorder.State{}, fmt.Errorf("state record: %w", err)
	}
	switch {
	case w.Format > stateFormat:
		return keyorder.State{}, fmt.Errorf("state record of format %d: %w", w.Format, ErrNewer)
	case w.Format < 1 || w.Next < 0 || w.Last < 0 || w.Waiting < 0 || w.Letters < 0 || w.Deleted < 0:
		return keyorder.State{}, errors.New("state record: a number is out of range")
	}
	if _, ok := header.ParseRanges(string(w.Parts), header.MaxParts); w.Parts != "" && !ok {
		return keyorder.State{}, errors.New("state record: held_parts are not ascending numbers")
	}
	st := keyorder.State{HeldParts: w.Parts, HeldRemaining: w.Remaining, Next: w.Next, Last: w.Last, Tier: w.Tier, Held: w.Held, Waiting: w.Waiting, DeadLetters: w.Letters, Applied: w.Applied, Deleted: w.Deleted}
	if w.Due != "" {
		due, err := time.Parse(time.RFC3339, w.Due)
		if err != nil {
			return keyorder.State{}, fmt.Errorf("state record: due: %w", err)
		}
		st.Due = due.UTC()
	}
	if st.Applied != nil && w.Scale.Differs(scale) {
		n := Latest{*st.Applied, st.Deleted}.On(w.Scale, scale)
		st.Applied, st.Deleted = &n.Version, n.Deleted
	}
	return st, nil
}
