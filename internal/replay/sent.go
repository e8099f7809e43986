package replay

import (
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// sentKey identifies a record key in one source partition, and the topic that its dead letters were put back into.
type sentKey struct {
	to, from  uint32 // index in standing.words
	partition int32
	key       idempotency.KeyHash
}

func (s *standing) sentKey(to string, source header.Position, key idempotency.KeyHash) sentKey {
	return sentKey{s.words.of(to), s.words.of(source.Topic), source.Partition, key}
}

// noteSent notes that a dead letter was put back. It returns the source offset of the youngest one of its key before,
// or -1.
func (s *standing) noteSent(state *deadletters.State) (before int64) {
	if !s.elsewhere || state.Destination == "" || state.KeyHash.IsZero() || state.Source.Topic == "" {
		return -1
	}
	key := s.sentKey(state.Destination, state.Source, state.KeyHash)
	before, ok := s.sent[key]
	if !ok {
		before = -1
	}
	s.sent[key] = max(before, state.Source.Offset)
	return before
}

// SentAfter reports whether a dead letter with this key and a larger source offset was put back.
func (s *standing) SentAfter(key sentKey, offset int64) bool { return s.sent[key] > offset }

// unnoteSent reverts noteSent.
func (s *standing) unnoteSent(state *deadletters.State, before int64) {
	key := s.sentKey(state.Destination, state.Source, state.KeyHash)
	switch {
	case s.sent[key] != state.Source.Offset: // a younger one was put back as well
	case before < 0:
		delete(s.sent, key)
	default:
		s.sent[key] = before
	}
}

// wrote reports whether a record is a dead letter of this DLQ that was put back. Such a value is as old as the dead
// letter.
func (s *standing) wrote(dlq string, r *kgo.Record) bool {
	letter := ""
	for _, h := range r.Headers {
		if h.Key == header.KeyDeadLetterID {
			letter = string(h.Value)
		}
	}
	id, own := strings.CutSuffix(letter, deadletters.IDIn(dlq, ""))
	return own && s.marks[keyOf(id)].to != 0
}
