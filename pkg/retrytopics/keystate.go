package retrytopics

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// stateFormat is the version of the state record's form. A record with a later one is refused. A key that parts hold has the
// second form, which an older version does not read: it would never let the key go.
const stateFormat, firstFormat = 2, 1

// ErrNewerState is wrapped when a state record was written by a newer version of this library. Without it the order of
// the key is not known, so the shard does not start.
var ErrNewerState = errors.New("the state was written by a newer version; upgrade this instance")

// stateJSON is the value of a record in the state topic.
type stateJSON struct {
	Format  int      `json:"format"`
	Next    int64    `json:"next,omitempty"`
	Last    int64    `json:"last,omitempty"`
	Tier    int      `json:"tier,omitempty"` // index, from 0
	Due     string   `json:"due,omitempty"`
	Held    string   `json:"held,omitempty"`
	Parts   partSet  `json:"held_parts,omitempty"`
	Rest    bool     `json:"held_rest,omitempty"`
	Waiting int64    `json:"waiting,omitempty"`
	Letters int64    `json:"letters,omitempty"`
	Applied *Version `json:"applied,omitempty"`
	Deleted int64    `json:"deleted,omitempty"`
}

// MarshalJSON and UnmarshalJSON keep the names of the record's form apart from those of the Go type.
func (v Version) MarshalJSON() ([]byte, error) {
	return json.Marshal([2]int64{v.Number, v.Offset})
}

// UnmarshalJSON reads [number, offset].
func (v *Version) UnmarshalJSON(data []byte) error {
	var pair [2]int64
	if err := json.Unmarshal(data, &pair); err != nil {
		return err
	}
	v.Number, v.Offset = pair[0], pair[1]
	return nil
}

// encodeState gives the record that remembers a key's state: a tombstone when there is nothing to remember.
func encodeState(topic string, partition int32, k string, st keyState) (*kgo.Record, error) {
	r := &kgo.Record{Topic: topic, Partition: partition, Key: stateKeyOf(k)}
	if st == (keyState{}) {
		return r, nil
	}
	w := stateJSON{Format: firstFormat, Parts: st.HeldParts, Rest: st.HeldRest, Next: st.Next, Last: st.Last, Tier: st.Tier, Held: st.Held,
		Waiting: st.Waiting, Letters: st.Letters, Applied: st.Applied, Deleted: st.Deleted}
	if st.HeldParts != "" {
		w.Format = stateFormat
	}
	if !st.Due.IsZero() {
		w.Due = FormatTime(st.Due)
	}
	value, err := json.Marshal(w)
	if err != nil {
		return nil, fmt.Errorf("encode the state of a key: %w", err)
	}
	r.Value = value
	return r, nil
}

// decodeState reads the value of a state record.
func decodeState(value []byte) (keyState, error) {
	var w stateJSON
	if err := json.Unmarshal(value, &w); err != nil {
		return keyState{}, fmt.Errorf("state record: %w", err)
	}
	switch {
	case w.Format > stateFormat:
		return keyState{}, fmt.Errorf("state record of format %d: %w", w.Format, ErrNewerState)
	case w.Format < 1 || w.Next < 0 || w.Last < 0 || w.Waiting < 0 || w.Letters < 0 || w.Deleted < 0:
		return keyState{}, errors.New("state record: a number is out of range")
	}
	if _, ok := readRanges(string(w.Parts), MaxParts); w.Parts != "" && !ok {
		return keyState{}, errors.New("state record: held_parts are no ascending numbers")
	}
	st := keyState{HeldParts: w.Parts, HeldRest: w.Rest, Next: w.Next, Last: w.Last, Tier: w.Tier, Held: w.Held, Waiting: w.Waiting, Letters: w.Letters, Applied: w.Applied, Deleted: w.Deleted}
	if w.Due != "" {
		due, err := time.Parse(time.RFC3339, w.Due)
		if err != nil {
			return keyState{}, fmt.Errorf("state record: due: %w", err)
		}
		st.Due = due.UTC()
	}
	return st, nil
}

// Newest is what the state topic knows of the events of a key that took effect since one waits or has died.
type Newest struct {
	Version Version // of the newest one
	Deleted int64   // source offset behind the newest delete among them; 0 when there is none
}

// Outdates says whether an event of a version is older than what took effect. A delete is newer than every event of its key
// before it, also than those with a greater number.
func (n Newest) Outdates(v Version) bool { return v.Less(n.Version) || v.Offset < n.Deleted }

// AppliedVersion reads what the value of a record in the state topic knows. ok is false when nothing took effect or the
// record is a tombstone.
func AppliedVersion(value []byte) (n Newest, ok bool, err error) {
	if value == nil {
		return Newest{}, false, nil
	}
	st, err := decodeState(value)
	if err != nil || st.Applied == nil {
		return Newest{}, false, err
	}
	return Newest{*st.Applied, st.Deleted}, true, nil
}
