package replay

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/switchback-geo/switchback/internal/replay/states"
)

// duplicatesOf finds the dead letters for which another one with the same content stands: the one that was first read
// last, because it is the newest version of its feature (of two at one position, the first in the DLQ). It returns
// indexes of places.
func duplicatesOf(letters []planned) map[int]int {
	order := make([]uint32, 0, len(letters))
	for i := range letters {
		if letters[i].content != (states.ContentKey{}) {
			order = append(order, uint32(i))
		}
	}
	slices.SortFunc(order, func(i, j uint32) int {
		a, b := &letters[i], &letters[j]
		return cmp.Or(bytes.Compare(a.content[:], b.content[:]), cmp.Compare(b.source, a.source), cmp.Compare(i, j))
	})
	duplicates := map[int]int{}
	stands := 0
	for n := 1; n < len(order); n++ {
		if letters[order[n]].content != letters[order[stands]].content {
			stands = n
			continue
		}
		duplicates[int(order[n])] = int(order[stands])
	}
	return duplicates
}

// duplicateOf returns the ID of the dead letter that stands for the one at a place, or "".
func (p *planning) duplicateOf(n int) string {
	other, ok := p.duplicates[n]
	if !ok {
		return ""
	}
	id, _ := p.ids.At(p.letters[other].id)
	return string(id)
}
