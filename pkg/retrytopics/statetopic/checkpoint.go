package statetopic

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/offsets"
)

// TopicID is Kafka's ID of a topic (KIP-516). A topic that is deleted and re-created has another one. Zero is unknown.
type TopicID [16]byte

// String returns the ID as Kafka's own tools print it.
func (id TopicID) String() string {
	if id == (TopicID{}) {
		return "unknown"
	}
	return base64.RawURLEncoding.EncodeToString(id[:])
}

// Differs reports whether two known IDs belong to different topics.
func (id TopicID) Differs(other TopicID) bool {
	return id != TopicID{} && other != TopicID{} && id != other
}

// Checkpoint records the topics and the group to which the memory of one partition belongs. Every transaction that
// commits positions of the partition writes it to the state topic, under one key and in the partition of the same
// number. When the group's own commits have expired, it still has the positions.
type Checkpoint struct {
	Group      string
	Source     string // name of the source topic; its ID is in Positions
	Generation int    // how often a re-created source topic or a lost memory was adopted
	Same       int    // number of latest generations that began without another source topic
	Ledger     TopicID
	LedgerFrom int64 // ledger records before this offset are ignored
	Scale      Scale // of the versions in the ledger
	ScaleFrom  int64 // ledger records before this offset have versions of another scale
	Positions  map[string]Position

	Pipelines []string // current and former pipeline IDs of this group: records with one of them are its own
	Shared    []string // retry topics in which records of another pipeline were found
}

// First returns the first generation with the current source topic.
func (cp *Checkpoint) First() int { return cp.Generation - cp.Same }

// Position is the position of the group in one topic.
type Position struct {
	ID     TopicID
	Commit offsets.Commit // offset -1: nothing is finished
}

// checkpointFormat is the version of the checkpoint's format. A later one is refused.
const checkpointFormat = 1

// checkpointRecord is the value of the checkpoint's record.
type checkpointRecord struct {
	Format     int             `json:"format"`
	Checkpoint *checkpointJSON `json:"checkpoint"`
}

type checkpointJSON struct {
	Format     int                          `json:"format"`
	Group      string                       `json:"group"`
	Source     string                       `json:"source"`
	Generation int                          `json:"generation,omitempty"`
	Same       int                          `json:"same_source,omitempty"`
	Ledger     string                       `json:"ledger,omitempty"`
	LedgerFrom int64                        `json:"ledger_from,omitempty"`
	Scale      Scale                        `json:"scale,omitempty"`
	ScaleFrom  int64                        `json:"scale_from,omitempty"`
	At         map[string]topicPositionJSON `json:"at"`
	Pipelines  []string                     `json:"pipelines,omitempty"`
	Shared     []string                     `json:"shared,omitempty"`
}

type topicPositionJSON struct {
	ID     string `json:"id,omitempty"`
	Offset int64  `json:"offset"`
	Ahead  string `json:"ahead,omitempty"`
}

// MaxPipelines bounds the pipeline IDs of a checkpoint; the latest are kept.
const MaxPipelines = 16

// MaxPositions bounds the topics of a checkpoint: the source, its retry topics, and retry topics of earlier
// configurations.
const MaxPositions = 256

// Record returns the checkpoint's record for the state topic's partition of the same number. It has at most MaxPositions
// positions, each no larger than the metadata of a commit.
func (cp *Checkpoint) Record(topic string, partition int32) (*kgo.Record, error) {
	w := checkpointJSON{
		Format: checkpointFormat, Group: cp.Group, Source: cp.Source, Generation: cp.Generation, Same: cp.Same,
		Pipelines: cp.Pipelines, Shared: cp.Shared,
		Ledger: idText(cp.Ledger), LedgerFrom: cp.LedgerFrom, Scale: cp.Scale, ScaleFrom: cp.ScaleFrom, At: make(map[string]topicPositionJSON, len(cp.Positions)),
	}
	for topic, p := range cp.Positions {
		w.At[topic] = topicPositionJSON{idText(p.ID), p.Commit.Offset, p.Commit.Metadata}
	}
	value, err := json.Marshal(checkpointRecord{stateFormat, &w})
	if err != nil {
		return nil, fmt.Errorf("encode a checkpoint: %w", err)
	}
	return &kgo.Record{Topic: topic, Partition: partition, Key: []byte(checkpointKey), Value: value}, nil
}

func idText(id TopicID) string {
	if id == (TopicID{}) {
		return ""
	}
	return id.String()
}

// ParseCheckpoint returns the checkpoint in a record of the state topic. ok is false for any other record, and for a checkpoint that was deleted.
func ParseCheckpoint(r *kgo.Record) (cp *Checkpoint, ok bool, err error) {
	if string(r.Key) != checkpointKey || r.Value == nil {
		return nil, false, nil
	}
	cp, err = DecodeCheckpoint(r.Value)
	return cp, true, err
}

// DecodeCheckpoint parses the value of a checkpoint's record.
func DecodeCheckpoint(value []byte) (*Checkpoint, error) {
	var r checkpointRecord
	if err := json.Unmarshal(value, &r); err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	w := r.Checkpoint
	switch {
	case r.Format > stateFormat || w != nil && w.Format > checkpointFormat:
		return nil, fmt.Errorf("checkpoint of a later format: %w", ErrNewer)
	case r.Format < 1 || w == nil || w.Format < 1:
		return nil, errors.New("checkpoint: the format is missing")
	case w.Generation < 0 || w.Generation > offsets.MaxGeneration || w.Same < 0 || w.Same > w.Generation || w.LedgerFrom < 0 || w.ScaleFrom < 0 || len(w.Scale) > maxScale || len(w.At) > MaxPositions ||
		len(w.Pipelines) > MaxPipelines || len(w.Shared) > MaxPositions:
		return nil, errors.New("checkpoint: a number is out of range")
	}
	cp := &Checkpoint{
		Group: w.Group, Source: w.Source, Generation: w.Generation, Same: w.Same, LedgerFrom: w.LedgerFrom, Scale: w.Scale, ScaleFrom: w.ScaleFrom,
		Positions: make(map[string]Position, len(w.At)), Pipelines: w.Pipelines, Shared: w.Shared,
	}
	var err error
	if cp.Ledger, err = parseID(w.Ledger); err != nil {
		return nil, err
	}
	for topic, p := range w.At {
		id, err := parseID(p.ID)
		if err != nil {
			return nil, err
		}
		if p.Offset < -1 {
			return nil, fmt.Errorf("checkpoint: %s: offset %d is out of range", header.Clip(topic, 80), p.Offset)
		}
		if _, err := offsets.DecodeFinished(p.Offset, p.Ahead); err != nil {
			return nil, fmt.Errorf("checkpoint: %s: %w", header.Clip(topic, 80), err)
		}
		cp.Positions[topic] = Position{id, offsets.Commit{Offset: p.Offset, Metadata: p.Ahead}}
	}
	return cp, nil
}

func parseID(text string) (id TopicID, err error) {
	if text == "" {
		return id, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(raw) != len(id) {
		return id, fmt.Errorf("checkpoint: topic id %q is not 16 bytes in base64", header.Clip(text, 80))
	}
	return TopicID(raw), nil
}
