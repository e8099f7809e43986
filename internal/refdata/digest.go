package refdata

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
)

// Digests gives a hash over the keys of each set that comes from a file, by the name of the set. Neither the place of the file
// nor the order of its lines counts. Sets from topics are left out: all who read a topic read the same one.
func (s *Store) Digests() map[string]string {
	out := map[string]string{}
	for _, one := range s.files {
		h := sha256.New()
		for _, key := range slices.Sorted(maps.Keys(*one.keys.Load())) {
			_, _ = fmt.Fprintf(h, "%d:%s", len(key), key) // a hash never fails
		}
		out[one.Name] = hex.EncodeToString(h.Sum(nil))
	}
	return out
}
