package retrytopics

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/offsets"
	"github.com/twmb/franz-go/pkg/kgo"
)

// A checkpoint records what a partition's memory belongs to: the consumer group, the topics by their IDs, and the
// position in each. Every transaction that commits positions of the partition writes it to the state topic, under one
// key and in the partition of the same number. When the group's own commits are gone, the checkpoint still has the
// positions.

// topicID is Kafka's ID of a topic (KIP-516). A topic that is deleted and re-created has another one. Zero is unknown.
type topicID [16]byte

// String returns the ID as Kafka's own tools print it.
func (id topicID) String() string {
	if id == (topicID{}) {
		return "unknown"
	}
	return base64.RawURLEncoding.EncodeToString(id[:])
}

// differs reports whether two known IDs belong to different topics.
func (id topicID) differs(other topicID) bool {
	return id != topicID{} && other != topicID{} && id != other
}

// checkpoint is what the memory of one partition belongs to.
type checkpoint struct {
	group      string
	source     string // name of the source topic; its ID is in positions
	generation int    // how often a re-created source topic or a lost memory was adopted
	same       int    // number of latest generations that began without another source topic
	ledger     topicID
	ledgerFrom int64 // ledger records before this offset are ignored
	scale      Scale // of the versions in the ledger
	scaleFrom  int64 // ledger records before this offset have versions of another scale
	positions  map[string]topicPosition

	pipelines []string // current and former pipeline IDs of this group: records with one of them are its own
	shared    []string // retry topics in which records of another pipeline were found
}

// topicPosition is the position of the group in one topic.
type topicPosition struct {
	id topicID
	at offsets.Commit // offset -1: nothing is finished
}

// checkpointKey is the key of the checkpoint in the state topic. Record keys that begin with it are escaped by it.
const checkpointKey = "\x00switchback-checkpoint\x00"

// stateKeyOf returns the key of the state record for a record key.
func stateKeyOf(k string) []byte {
	if strings.HasPrefix(k, checkpointKey) {
		return []byte(checkpointKey + k)
	}
	return []byte(k)
}

// keyOfState is the inverse of stateKeyOf; ok is false for the checkpoint.
func keyOfState(key []byte) (k string, ok bool) {
	remaining, own := strings.CutPrefix(string(key), checkpointKey)
	switch {
	case !own:
		return string(key), true
	case remaining == "":
		return "", false
	}
	return remaining, true
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

// maxPipelines bounds the pipeline IDs of a checkpoint; the latest are kept.
const maxPipelines = 16

// maxPositions bounds the topics of a checkpoint: the source, its retry topics, and retry topics of earlier
// configurations.
const maxPositions = 256

// record returns the checkpoint's record for the state topic's partition of the same number. It has at most maxPositions
// positions, each no larger than the metadata of a commit.
func (cp *checkpoint) record(topic string, partition int32) (*kgo.Record, error) {
	w := checkpointJSON{
		Format: checkpointFormat, Group: cp.group, Source: cp.source, Generation: cp.generation, Same: cp.same,
		Pipelines: cp.pipelines, Shared: cp.shared,
		Ledger: idText(cp.ledger), LedgerFrom: cp.ledgerFrom, Scale: cp.scale, ScaleFrom: cp.scaleFrom, At: make(map[string]topicPositionJSON, len(cp.positions)),
	}
	for topic, p := range cp.positions {
		w.At[topic] = topicPositionJSON{idText(p.id), p.at.Offset, p.at.Metadata}
	}
	value, err := json.Marshal(checkpointRecord{stateFormat, &w})
	if err != nil {
		return nil, fmt.Errorf("encode a checkpoint: %w", err)
	}
	return &kgo.Record{Topic: topic, Partition: partition, Key: []byte(checkpointKey), Value: value}, nil
}

func idText(id topicID) string {
	if id == (topicID{}) {
		return ""
	}
	return id.String()
}

// decodeCheckpoint parses the value of a checkpoint's record.
func decodeCheckpoint(value []byte) (*checkpoint, error) {
	var r checkpointRecord
	if err := json.Unmarshal(value, &r); err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	w := r.Checkpoint
	switch {
	case r.Format > stateFormat || w != nil && w.Format > checkpointFormat:
		return nil, fmt.Errorf("checkpoint of a later format: %w", ErrNewerState)
	case r.Format < 1 || w == nil || w.Format < 1:
		return nil, errors.New("checkpoint: the format is missing")
	case w.Generation < 0 || w.Generation > offsets.MaxGeneration || w.Same < 0 || w.Same > w.Generation || w.LedgerFrom < 0 || w.ScaleFrom < 0 || len(w.Scale) > maxScale || len(w.At) > maxPositions ||
		len(w.Pipelines) > maxPipelines || len(w.Shared) > maxPositions:
		return nil, errors.New("checkpoint: a number is out of range")
	}
	cp := &checkpoint{
		group: w.Group, source: w.Source, generation: w.Generation, same: w.Same, ledgerFrom: w.LedgerFrom, scale: w.Scale, scaleFrom: w.ScaleFrom,
		positions: make(map[string]topicPosition, len(w.At)), pipelines: w.Pipelines, shared: w.Shared,
	}
	var err error
	if cp.ledger, err = parseID(w.Ledger); err != nil {
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
		cp.positions[topic] = topicPosition{id, offsets.Commit{Offset: p.Offset, Metadata: p.Ahead}}
	}
	return cp, nil
}

func parseID(text string) (id topicID, err error) {
	if text == "" {
		return id, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(raw) != len(id) {
		return id, fmt.Errorf("checkpoint: topic id %q is not 16 bytes in base64", header.Clip(text, 80))
	}
	return topicID(raw), nil
}
