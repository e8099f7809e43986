package statetopic

import (
	"strings"

	"github.com/switchback-geo/switchback/pkg/idempotency"
)

// The state topic has three kinds of records, distinguished by their keys: a partition's checkpoint under
// checkpointKey, the newest version of a record key under versionKey and the hash of that key, and the order of a
// record key under the key itself. A producer chooses record keys, so a record key that begins with checkpointKey is
// escaped by it.
const (
	checkpointKey = "\x00switchback-checkpoint\x00"
	versionKey    = checkpointKey + "v"
)

// OrderKey returns the key of the record with the order of a record key.
func OrderKey(k string) []byte {
	if strings.HasPrefix(k, checkpointKey) {
		return []byte(checkpointKey + k)
	}
	return []byte(k)
}

// KeyOf is the inverse of OrderKey. ok is false for the checkpoint.
func KeyOf(key []byte) (k string, ok bool) {
	remaining, own := strings.CutPrefix(string(key), checkpointKey)
	switch {
	case !own:
		return string(key), true
	case remaining == "":
		return "", false
	}
	return remaining, true
}

// HashOf returns the hash of the record key whose newest version a record has. ok is false for another record.
func HashOf(key []byte) (k idempotency.KeyHash, ok bool) {
	remaining, ok := strings.CutPrefix(string(key), versionKey)
	if !ok || len(remaining) != len(k) {
		return k, false
	}
	copy(k[:], remaining)
	return k, true
}
