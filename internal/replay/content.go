package replay

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// contentKey names what is the same content of the same feature: a content hash, the hash of the record's key, and topic and
// partition of the source, in which alone two records have an order. It is half of a SHA-256; two contents with one are as
// good as impossible.
type contentKey [16]byte

func contentOf(l *deadletters.Letter) contentKey {
	return newContentKey(l.ContentHash+partOf(l.ID), l.KeyHash(), l.Control.Source)
}

// contentOfState is contentOf of a letter with a state. ok is false when the state does not say all of it: such a letter is
// compared with no other.
func contentOfState(s *deadletters.State) (key contentKey, ok bool) {
	if s.ContentHash == "" || s.KeyHash.IsZero() || s.Source.Topic == "" {
		return contentKey{}, false
	}
	return newContentKey(s.ContentHash+partOf(s.ID), s.KeyHash, s.Source), true
}

// partOf gives what of a letter's id says which part of its record it is; "" when it is no part. Two parts of one record with
// the same content are two features all the same: neither stands for the other.
func partOf(id string) string {
	if fields := strings.Split(id, "-"); len(fields) == partFields {
		return "#" + fields[partFields-1]
	}
	return ""
}

// partFields is how many words the id of a part has: partition, offset, hash, part.
const partFields = 4

func newContentKey(contentHash string, key idempotency.KeyHash, source header.Position) contentKey {
	text := make([]byte, 0, 192)
	text = append(append(text, source.Topic...), 0)
	text = binary.BigEndian.AppendUint32(append(text, key[:]...), uint32(source.Partition))
	sum := sha256.Sum256(append(text, contentHash...))
	return contentKey(sum[:16])
}

// hold notes that the content of a letter was put back. Of two that hold the same content, the later one counts.
func (s *standing) hold(state deadletters.State) {
	key, ok := contentOfState(&state)
	if !ok {
		return
	}
	if _, held := s.holder(key, state.Source.Offset); held {
		return
	}
	s.holders[key] = s.ids.add(state.ID, state.Source.Offset)
}

// release notes that a letter holds its content no longer.
func (s *standing) release(state deadletters.State) {
	key, ok := contentOfState(&state)
	if !ok {
		return
	}
	if at, held := s.holders[key]; held {
		if id, _ := s.ids.at(at); id == state.ID {
			delete(s.holders, key)
		}
	}
}

// holder returns a letter of the given content that stands for one first read at the given offset of the source: it has been
// put back, has not failed again, and was first read there or later. One that was first read before stands for nothing that
// came after it, since another event of the key may have come between: A, B, A is three changes (docs/decisions/0033).
//
// A letter whose state was removed (pruned) holds nothing, whether the records of its state are still in the topic or not.
func (s *standing) holder(key contentKey, source int64) (id string, ok bool) {
	at, ok := s.holders[key]
	if !ok {
		return "", false
	}
	id, own := s.ids.at(at)
	_, ok = s.marks[keyOf(id)]
	return id, ok && own >= source
}

// standsFor is [standing.holder] for a letter. One whose first position is not known is no other one's word on anything.
func (s *standing) standsFor(l *deadletters.Letter) (id string, ok bool) {
	if !l.Control.HasSource {
		return "", false
	}
	return s.holder(contentOf(l), l.Control.Source.Offset)
}

// twinsOf finds, of the letters that can go back, those for which another one of the same content stands: the one that was
// first read last, since it is the newest word on its feature (of two at one place, the first in the DLQ). It gives numbers of places.
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

// twin is the id of the letter that stands for the one at a place, or "".
func (p *planning) twin(n int) string {
	other, ok := p.twins[n]
	if !ok {
		return ""
	}
	id, _ := p.ids.at(p.marks[other].id)
	return id
}

// idList keeps, in little memory, ids of letters with the offsets of the source at which they were first read.
type idList struct{ bytes []byte }

// add returns the place of what it keeps.
func (l *idList) add(id string, source int64) uint32 {
	place := uint32(len(l.bytes))
	l.bytes = binary.AppendVarint(l.bytes, source)
	l.bytes = append(binary.AppendUvarint(l.bytes, uint64(len(id))), id...)
	return place
}

func (l *idList) at(place uint32) (id string, source int64) {
	rest := l.bytes[place:]
	source, width := binary.Varint(rest)
	rest = rest[width:]
	n, width := binary.Uvarint(rest)
	return string(rest[width : width+int(n)]), source
}
