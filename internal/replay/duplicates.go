package replay

import (
	"bytes"
	"cmp"
	"slices"
)

// twinsOf finds the dead letters for which another one with the same content stands: the one that was first read
// last, because it is the newest version of its feature (of two at one position, the first in the DLQ). It returns
// indexes of places.
func twinsOf(letters []going) map[int]int {
	order := make([]uint32, 0, len(letters))
	for i := range letters {
		if letters[i].content != (contentKey{}) {
			order = append(order, uint32(i))
		}
	}
	slices.SortFunc(order, func(i, j uint32) int {
		a, b := &letters[i], &letters[j]
		return cmp.Or(bytes.Compare(a.content[:], b.content[:]), cmp.Compare(b.source, a.source), cmp.Compare(i, j))
	})
	twins := map[int]int{}
	stands := 0
	for n := 1; n < len(order); n++ {
		if letters[order[n]].content != letters[order[stands]].content {
			stands = n
			continue
		}
		twins[int(order[n])] = int(order[stands])
	}
	return twins
}

// twin returns the ID of the dead letter that stands for the one at a place, or "".
func (p *planning) twin(n int) string {
	other, ok := p.twins[n]
	if !ok {
		return ""
	}
	id, _ := p.ids.at(p.marks[other].id)
	return string(id)
}
