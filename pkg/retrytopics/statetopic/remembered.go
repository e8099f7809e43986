package statetopic

import "github.com/switchback-geo/switchback/pkg/idempotency"

// Remembered is the content of a record of the state topic about the effective events of a key.
type Remembered struct {
	Key    idempotency.KeyHash
	Newest Latest
	Known  bool // Newest is set; otherwise this record has no version, or no longer
	// Lasting is true for a version record. Otherwise it is the state of a key of which a record waits or is a dead
	// letter. A key can have both; the newer one counts.
	Lasting bool
}

// Read parses a record of the state topic, on a scale. ok is false if it is not about a key.
func Read(key, value []byte, scale Scale) (m Remembered, ok bool, err error) {
	if m.Key, m.Lasting = HashOf(key); m.Lasting {
		if m.Known = value != nil; m.Known {
			m.Newest, err = DecodeVersion(value, scale)
		}
		return m, true, err
	}
	k, ok := KeyOf(key)
	if !ok {
		return m, false, nil
	}
	m.Key = idempotency.HashKey([]byte(k))
	if value == nil {
		return m, true, nil
	}
	st, err := DecodeOrder(value, scale)
	if m.Known = err == nil && st.Applied != nil; m.Known {
		m.Newest = Latest{*st.Applied, st.Deleted}
	}
	return m, true, err
}
