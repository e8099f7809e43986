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

// A checkpoint is what a partition's memory belongs to: the group, the topics by their ids, and the position of each. Every
// transaction that commits positions of the partition writes it to the state topic, under one key in the partition of the same number. So
// the memory knows where the group was when the group's own commits are gone, and for which topic it holds.

// topicID is Kafka's id of a topic (KIP-516); a topic that is deleted and re-created has another one. Zero: not known.
type topicID [16]byte

// String gives the form of Kafka's own tools.
func (id topicID) String() string {
	if id == (topicID{}) {
		return "unknown"
	}
	return base64.RawURLEncoding.EncodeToString(id[:])
}

// differs says whether two ids are those of different topics.
func (id topicID) differs(other topicID) bool {
	return id != topicID{} && other != topicID{} && id != other
}

// checkpoint is the memory of one partition about itself.
type checkpoint struct {
	group      string
	source     string // name of the source topic; its id is that of its place
	generation int    // how often a re-created source topic, or a lost memory, was adopted
	same       int    // so many of the latest generations began without another source topic
	ledger     topicID
	ledgerFrom int64 // records of the ledger before this offset are forgotten
	scale      Scale // of the versions in the ledger
	scaleFrom  int64 // records of the ledger before this offset have versions of another scale
	positions  map[string]topicPosition

	pipelines []string // ids that this group's pipeline has or had: records of these are its own
	shared    []string // retry topics in which records of another pipeline were found
}

// topicPosition is where the group stands in one topic.
type topicPosition struct {
	id topicID
	at offsets.Commit // offset -1: nothing is finished
}

// checkpointKey is the key of the checkpoint in the state topic. Keys of records that begin like it are escaped by it.
const checkpointKey = "\x00switchback-checkpoint\x00"

// stateKeyOf gives the key of the state record of a feature's key.
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

// checkpointFormat is the version of the checkpoint's form. A later one is refused.
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

// maxPipelines bounds the pipeline ids of a checkpoint; the latest are kept.
const maxPipelines = 16

// maxPositions bounds the topics of a checkpoint: the source, its tiers, and tiers of earlier configurations.
const maxPositions = 256

// record gives the checkpoint's record in the state topic's partition of the same number. Its size is bounded: at most
// maxPositions positions, each with no more than the metadata of a commit.
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

// decodeCheckpoint reads the value of a checkpoint's record.
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
