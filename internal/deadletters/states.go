package deadletters

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/recordbatch"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// StateRecord is one record of a status topic: the state of a dead letter, its removal, or the head of a hash chain.
type StateRecord struct {
	At        header.Position
	ID        string // of the dead letter
	Removed   bool   // a tombstone
	State     State  // unless it was removed or cannot be read
	Err       error  // why it cannot be read; such a dead letter never counts as pending
	ChainHead []byte // the value, if it is the head of a hash chain; then only At is set besides
}

// ScanStates is [Scan] for a status topic. A record that is too large is an unreadable state. If not even its key can be
// read, its dead letter is unknown, and the scan ends with an error that names the record.
func ScanStates(ctx context.Context, log kafka.Log, topic string, spans map[int32]kafka.Span, fn func(*StateRecord) error) error {
	return log.Scan(ctx, topic, spans,
		func(r *kgo.Record) error { return fn(ReadStateRecord(r)) },
		func(l *recordbatch.Large) error {
			if l.Unread || l.Key == nil {
				return errors.New(l.String())
			}
			s := &StateRecord{At: positionOf(l.Record), ID: string(l.Key)}
			if !IsChainHead(l.Key) {
				s.Err = fmt.Errorf("state at %s: too large: %s", s.At, l.Why)
			}
			return fn(s)
		})
}

// ReadStateRecord parses a record of a status topic.
func ReadStateRecord(r *kgo.Record) *StateRecord {
	s := &StateRecord{At: positionOf(r)}
	if IsChainHead(r.Key) {
		s.ChainHead = r.Value
		if s.ChainHead == nil {
			s.ChainHead = []byte{}
		}
		return s
	}
	s.ID = string(r.Key)
	if s.Removed = r.Value == nil; s.Removed {
		return s
	}
	s.State, s.Err = ParseState(r.Value)
	if s.Err == nil && s.State.ID != s.ID {
		s.Err = fmt.Errorf("its id is %q, its key %q", clip(s.State.ID, maxName), clip(s.ID, maxName))
	}
	if s.Err != nil {
		s.Err = fmt.Errorf("state at %s: %w", s.At, s.Err)
	}
	return s
}

func positionOf(r *kgo.Record) header.Position {
	return header.Position{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset}
}
