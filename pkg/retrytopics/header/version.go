package header

import "encoding/json"

// Version orders the events of one key: by the number that the handler gives, then by source offset. Where the handler
// gives none, the source offset alone decides: one key has one partition, so offsets are ordered.
type Version struct {
	Number int64
	Offset int64 // of the event's first appearance in the source topic
}

// Less says whether v is older than w.
func (v Version) Less(w Version) bool {
	return v.Number < w.Number || v.Number == w.Number && v.Offset < w.Offset
}

// MarshalJSON writes [number, offset].
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

// Compared returns the version by which the record is compared with the newest event that took effect, if any is known: v, that of
// what it says itself, unless it is a part. A part has the number of its whole record, or its own if that is greater, and nothing of
// its own record is newer than it.
func (c *Control) Compared(v Version, newest *Version) Version {
	if c.Part.Whole() {
		return v
	}
	if c.PartVersion != nil {
		v.Number = max(v.Number, *c.PartVersion)
	}
	if newest != nil && newest.Offset == v.Offset {
		v.Number = max(v.Number, newest.Number)
	}
	return v
}
