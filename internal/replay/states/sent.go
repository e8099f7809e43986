package states

import (
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// SentKey identifies a record key in one source partition, and the topic that its dead letters were put back into.
type SentKey struct {
	to, from  uint32 // index in Table.texts
	partition int32
	key       idempotency.KeyHash
}

// SentKey returns the key of dead letters that came from a partition and were put back into a topic.
func (s *Table) SentKey(to string, source header.Position, key idempotency.KeyHash) SentKey {
	return SentKey{s.texts.index(to), s.texts.index(source.Topic), source.Partition, key}
}

// AddSent stores that a dead letter was put back. It returns the source offset of the youngest one of its key before,
// or -1.
func (s *Table) AddSent(state *deadletters.State) (before int64) {
	if !s.elsewhere || state.Destination == "" || state.KeyHash.IsZero() || state.Source.Topic == "" {
		return -1
	}
	key := s.SentKey(state.Destination, state.Source, state.KeyHash)
	before, ok := s.sent[key]
	if !ok {
		before = -1
	}
	s.sent[key] = max(before, state.Source.Offset)
	return before
}

// SentAfter reports whether a dead letter with this key and a larger source offset was put back.
func (s *Table) SentAfter(key SentKey, offset int64) bool { return s.sent[key] > offset }

// RemoveSent reverts [Table.AddSent].
func (s *Table) RemoveSent(state *deadletters.State, before int64) {
	key := s.SentKey(state.Destination, state.Source, state.KeyHash)
	switch {
	case s.sent[key] != state.Source.Offset: // a younger one was put back as well
	case before < 0:
		delete(s.sent, key)
	default:
		s.sent[key] = before
	}
}

// Wrote reports whether a record is a dead letter of this DLQ that was put back. Such a value is as old as the dead
// letter.
func (s *Table) Wrote(dlq string, r *kgo.Record) bool {
	letter := ""
	for _, h := range r.Headers {
		if h.Key == header.KeyDeadLetterID {
			letter = string(h.Value)
		}
	}
	id, own := strings.CutSuffix(letter, deadletters.IDIn(dlq, ""))
	return own && s.entries[KeyOf(id)].to != 0
}
