package deadletters

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/audit"
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
		s.Err = fmt.Errorf("its id is %q, its key %q", header.Clip(s.State.ID, maxName), header.Clip(s.ID, maxName))
	}
	if s.Err != nil {
		s.Err = fmt.Errorf("state at %s: %w", s.At, s.Err)
	}
	return s
}

func positionOf(r *kgo.Record) header.Position {
	return header.Position{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset}
}

// chainHeadPrefix begins the keys of the status topic that belong to no dead letter. Each has the head of the
// operators' hash chain in one partition of the audit topic, from which the next operation continues.
const chainHeadPrefix = "audit-chain/"

// ChainHead is the head of the operators' hash chain in one partition of the audit topic, as the status topic stores it.
type ChainHead struct {
	Partition int32 `json:"partition"`
	audit.Head
}

// Record returns the head's record in a partition of the status topic.
func (h ChainHead) Record(topic string, partition int32) (*kgo.Record, error) {
	value, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("encode the head of the audit chain %d: %w", h.Partition, err)
	}
	key := strconv.AppendInt([]byte(chainHeadPrefix), int64(h.Partition), 10)
	return &kgo.Record{Topic: topic, Partition: partition, Key: key, Value: value}, nil
}

// ParseChainHead parses the value of a head's record.
func ParseChainHead(value []byte) (h ChainHead, err error) {
	if err = json.Unmarshal(value, &h); err != nil {
		err = fmt.Errorf("head of an audit chain: %w", err)
	}
	return h, err
}

// IsChainHead reports whether a record of the status topic is the head of a chain rather than a state.
func IsChainHead(key []byte) bool { return bytes.HasPrefix(key, []byte(chainHeadPrefix)) }

// ChainHeads reads the heads of the operators' hash chain from the status topic, by partition of the audit topic,
// including everything committed before the call.
func ChainHeads(ctx context.Context, cl *kgo.Client, topic string) (map[int32]audit.Head, error) {
	spans, err := kafka.DecidedSpans(ctx, cl, topic)
	if err != nil {
		return nil, err
	}
	heads := map[int32]audit.Head{}
	err = ScanStates(ctx, kafka.Cluster{Client: cl}, topic, spans, func(r *StateRecord) error {
		if r.ChainHead == nil {
			return nil
		}
		head, err := ParseChainHead(r.ChainHead)
		if err != nil {
			return fmt.Errorf("%s: %w", r.At, err)
		}
		heads[head.Partition] = head.Head
		return nil
	})
	return heads, err
}
