package control

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/config"
)

// mappingPrefix precedes the fingerprint in the key of a mapping.
const mappingPrefix = "mapping/"

// Mapping is the pipeline file of instances. It is published so that a replayer with another file can predict what
// they would do with a dead letter. It does not show which instances run: that is in the group membership
// (docs/decisions/0079).
type Mapping struct {
	File     string    `json:"file"`               // YAML with every default, which has no secrets
	Software string    `json:"software,omitempty"` // the version that wrote it
	At       time.Time `json:"at"`
}

// mappingWire is the JSON of a mapping.
type mappingWire struct {
	Version int `json:"version"`
	Mapping
}

const (
	// MaxMappingFile bounds the file of a mapping, in bytes: a larger pipeline file cannot be read.
	MaxMappingFile = config.MaxFileBytes
	// keptMappings is how many mappings the topic keeps. A deployment has two at a time.
	keptMappings = 16
	// publishLimit is how long a mapping may take to be written.
	publishLimit = 30 * time.Second
)

// applyMapping applies a mapping or its removal. An unreadable one counts as none: nothing depends on it.
func (v *View) applyMapping(fingerprint string, value []byte) {
	var w mappingWire
	if value == nil || json.Unmarshal(value, &w) != nil || w.Version != version || len(w.File) > MaxMappingFile {
		delete(v.Mappings, fingerprint)
		return
	}
	v.Mappings[fingerprint] = w.Mapping
}

// PublishMapping writes the mapping with a fingerprint into the topic, unless the topic has it, and removes the oldest
// ones beyond those that are kept. It gives up after a time limit.
func PublishMapping(ctx context.Context, connection []kgo.Opt, topic, fingerprint string, m Mapping) error {
	if len(m.File) > MaxMappingFile {
		return fmt.Errorf("the pipeline file has %d bytes with all defaults; at most %d are published", len(m.File), MaxMappingFile)
	}
	ctx, cancel := context.WithTimeout(ctx, publishLimit)
	defer cancel()
	view, err := Read(ctx, connection, topic)
	if err != nil {
		return err
	}
	var records []*kgo.Record
	if known, published := view.Mappings[fingerprint]; !published || known.File != m.File {
		value, err := json.Marshal(mappingWire{version, m})
		if err != nil {
			return fmt.Errorf("encode the mapping: %w", err)
		}
		records = append(records, &kgo.Record{Key: []byte(mappingPrefix + fingerprint), Value: value})
	}
	for _, old := range view.oldestMappings(fingerprint) {
		records = append(records, &kgo.Record{Key: []byte(mappingPrefix + old)})
	}
	if len(records) == 0 {
		return nil
	}
	client, err := connect(connection)
	if err != nil {
		return err
	}
	defer client.Close()
	if err := produce(ctx, client, topic, records); err != nil {
		return fmt.Errorf("write the mapping to %s: %w", topic, err)
	}
	return nil
}

// oldestMappings returns the fingerprints of the mappings that must be removed when a new one is added.
func (v View) oldestMappings(added string) []string {
	byAge := slices.SortedFunc(maps.Keys(v.Mappings), func(a, b string) int {
		return cmp.Or(v.Mappings[b].At.Compare(v.Mappings[a].At), strings.Compare(a, b))
	})
	byAge = slices.DeleteFunc(byAge, func(fingerprint string) bool { return fingerprint == added })
	return byAge[min(len(byAge), keptMappings-1):]
}
