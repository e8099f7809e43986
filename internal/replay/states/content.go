package states

import (
	"crypto/sha256"
	"encoding/binary"
	"strings"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// ContentKey identifies the same content of the same feature: a content hash, the hash of the record's key, and topic
// and partition of the source, because only there two records have an order. It is half of a SHA-256; a collision is
// practically impossible.
type ContentKey [16]byte

// ContentOf returns the content of a dead letter.
func ContentOf(l *deadletters.Letter) ContentKey {
	return newContentKey(l.ContentHash+partOf(l.ID), l.KeyHash(), l.Control.Source)
}

// contentOfState is [ContentOf] for a dead letter with a state. ok is false if the state does not have all parts; such
// a dead letter is never compared.
func contentOfState(s *deadletters.State) (key ContentKey, ok bool) {
	if s.ContentHash == "" || s.KeyHash.IsZero() || s.Source.Topic == "" {
		return ContentKey{}, false
	}
	return newContentKey(s.ContentHash+partOf(s.ID), s.KeyHash, s.Source), true
}

// partOf returns the part of its record that a dead letter's ID names; "" if it is the whole record. Two parts of one
// record with the same content are two features, and neither stands for the other.
func partOf(id string) string {
	if fields := strings.Split(id, "-"); len(fields) == partFields {
		return "#" + fields[partFields-1]
	}
	return ""
}

// partFields is the number of fields in the ID of a part: partition, offset, hash, part.
const partFields = 4

func newContentKey(contentHash string, key idempotency.KeyHash, source header.Position) ContentKey {
	text := make([]byte, 0, 192)
	text = append(append(text, source.Topic...), 0)
	text = binary.BigEndian.AppendUint32(append(text, key[:]...), uint32(source.Partition))
	sum := sha256.Sum256(append(text, contentHash...))
	return ContentKey(sum[:16])
}

// HoldContent stores that the content of a dead letter was put back. Of two with the same content, the later one
// counts.
func (s *Table) HoldContent(state deadletters.State) {
	key, ok := contentOfState(&state)
	if !ok {
		return
	}
	if _, held := s.holder(key, state.Source.Offset); held {
		return
	}
	s.contents[key] = s.ids.Add(state.ID, state.Source.Offset)
}

// release removes a dead letter's content.
func (s *Table) release(state deadletters.State) {
	key, ok := contentOfState(&state)
	if !ok {
		return
	}
	if at, held := s.contents[key]; held {
		if id, _ := s.ids.At(at); string(id) == state.ID {
			delete(s.contents, key)
		}
	}
}

// holder returns a dead letter with the given content that stands for one first read at the given source offset: it
// was put back, has not failed again, and was first read there or later. An earlier one stands for nothing later,
// because another event of the key may be between them: A, B, A are three changes (docs/decisions/0033).
//
// A dead letter whose state was removed (pruned) holds nothing, even if the records of its state are still in the
// topic.
func (s *Table) holder(key ContentKey, source int64) (id string, ok bool) {
	at, ok := s.contents[key]
	if !ok {
		return "", false
	}
	held, own := s.ids.At(at)
	id = string(held)
	_, ok = s.entries[KeyOf(id)]
	return id, ok && own >= source
}

// SameContent returns the ID of a dead letter with the same content that stands for this one: it was put back, has not
// failed again, and was first read at the same source offset or later. A dead letter whose first position is unknown is
// never compared.
func (s *Table) SameContent(l *deadletters.Letter) (id string, ok bool) {
	if !l.Control.HasSource {
		return "", false
	}
	return s.holder(ContentOf(l), l.Control.Source.Offset)
}

// IDList stores IDs of dead letters, each with the source offset at which it was first read, in little memory.
type IDList struct{ bytes []byte }

// Add returns the place at which it stores an ID.
func (l *IDList) Add(id string, source int64) uint32 {
	place := uint32(len(l.bytes))
	l.bytes = binary.AppendVarint(l.bytes, source)
	l.bytes = append(binary.AppendUvarint(l.bytes, uint64(len(id))), id...)
	return place
}

// At returns the ID at a place, and its source offset. The caller must not change the ID.
func (l *IDList) At(place uint32) (id []byte, source int64) {
	rest := l.bytes[place:]
	source, width := binary.Varint(rest)
	rest = rest[width:]
	n, width := binary.Uvarint(rest)
	return rest[width : width+int(n)], source
}

func (l *IDList) id(place uint32) []byte {
	id, _ := l.At(place)
	return id
}
