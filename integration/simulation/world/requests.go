package world

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// requests counts the requests of a process by kind, so that a story names those of a loop without a pause. It reads the
// bytes, because a hook of the client would change when its goroutines run, and with it the world.
type requests map[int16]int64

// add counts a request: four bytes have its length, and two its kind.
func (r requests) add(written []byte) {
	if len(written) >= 6 {
		r[int16(binary.BigEndian.Uint16(written[4:]))]++
	}
}

func (r requests) total() (n int64) {
	for _, count := range r {
		n += count
	}
	return n
}

// String lists the kinds, the most frequent first.
func (r requests) String() string {
	keys := slices.SortedFunc(maps.Keys(r), func(a, b int16) int {
		return cmp.Or(cmp.Compare(r[b], r[a]), cmp.Compare(a, b))
	})
	parts := make([]string, 0, len(keys))
	for _, key := range keys {
		parts = append(parts, fmt.Sprintf("%d %s", r[key], kmsg.NameForKey(key)))
	}
	return strings.Join(parts, ", ")
}
