package header

import "encoding/json"

// Version orders the events of one key: by the number that the handler sets, then by source offset. Without a number the
// source offset alone decides: one key has one partition, so offsets are ordered.
type Version struct {
	Number int64
	Offset int64 // of the event's first appearance in the source topic
}

// Less reports whether v is older than w.
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

// Compared returns the version to compare with the newest effective event, if one is known. For a whole record that is
// its own version v. A part has the number of its whole record, or its own if that is greater, and nothing of its own
// record is newer than it.
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
