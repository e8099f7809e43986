package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/governance"
	"github.com/switchback-geo/switchback/internal/refdata"
	"github.com/switchback-geo/switchback/internal/registry"
	"github.com/switchback-geo/switchback/pkg/envelope"
	"github.com/switchback-geo/switchback/pkg/envelope/avro"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// Mapping is the part of a pipeline that calls no remote step: it opens a record of any format, gates its feature and
// maps it. The consumer and the replayer's dry run share it, so a dry run predicts what the consumer does. Its methods
// are safe for concurrent use.
type Mapping struct {
	cfg         *config.Config
	transformer *transform.Transformer
	opener      *envelope.Opener
	encoder     *encoder
	schemas     *registry.Client // nil if the pipeline file names none
	sets        *refdata.Store
	governance  governance.Policy
	now         func() time.Time
	contents    sync.Pool                 // of *[]byte, for hashing
	files       func() (filesRead, error) // for Fingerprint
}

// NewMapping compiles a pipeline's mapping and reads the files that it names: reference sets and Avro schemas. It
// sends no request to the schema registry yet. It logs nothing.
func NewMapping(cfg *config.Config) (*Mapping, error) {
	return newMapping(cfg, slog.New(slog.DiscardHandler))
}

// newMapping is [NewMapping] with a log for outages of the schema registry.
func newMapping(cfg *config.Config, log *slog.Logger) (*Mapping, error) {
	transformer, sets, err := refdata.NewTransformer(cfg)
	if err != nil {
		return nil, err
	}
	m := &Mapping{cfg: cfg, transformer: transformer, sets: sets, governance: governance.NewPolicy(cfg.Governance), now: time.Now}
	if cfg.SchemaRegistry.Enabled() {
		if m.schemas, err = registry.Open(cfg.SchemaRegistry, log); err != nil {
			return nil, err
		}
	}
	options, err := openOptions(cfg.Source, m.schemas)
	if err != nil {
		return nil, err
	}
	options.Debezium.Reads = m.reads
	// Grid files are large, and most callers need no fingerprint.
	m.files = sync.OnceValues(func() (filesRead, error) { return digestFiles(cfg, options.Schemas) })
	if m.opener, err = envelope.New(transformer, options); err != nil {
		return nil, err
	}
	m.encoder, err = newEncoder(cfg.Output, transformer, m.schemas)
	return m, err
}

// openOptions converts the pipeline file's source to envelope options. The registry may be nil.
func openOptions(source config.Source, schemas *registry.Client) (envelope.Options, error) {
	o := envelope.Options{
		Format: source.Format, Split: source.Split, SeparateFeatures: source.SeparateFeatures(), MaxFeatures: source.MaxFeatures, Unsupported: source.JSONFG.Unsupported,
		Row: envelope.Row{
			ID: source.Row.ID, Geometry: source.Row.Geometry, GeometryFormat: source.Row.GeometryFormat,
			Properties: source.Row.Properties, DropMeasures: source.Row.DropMeasures,
		},
		Debezium: envelope.DebeziumOptions{Serialization: source.Debezium.Serialization, Unwrapped: source.Debezium.Unwrapped, UnavailableValue: source.Debezium.UnavailableValue},
	}
	if source.CloudEvents.Data != envelope.Auto {
		o.Data = source.CloudEvents.Data
	}
	if schemas != nil { // an interface with a nil pointer is not nil
		o.Registry = schemas
	}
	var err error
	o.Schemas, err = readSchemas(source.Avro.Schemas)
	return o, err
}

// reads reports whether the pipeline reads a source property: for the mapped feature, for the version, or for a mark.
func (m *Mapping) reads(property string) bool {
	rules := m.cfg.Governance
	for _, field := range []string{m.cfg.Source.Version, rules.Care.Field, rules.Sovereignty.Field, rules.Lineage.Field} {
		path, _ := strings.CutPrefix(field, "properties.")
		if path == property || strings.HasPrefix(path, property+".") {
			return true
		}
	}
	return m.transformer.Reads(property)
}

// readSchemas reads schema files, and names every file that it cannot read.
func readSchemas(files []string) (schemas []*avro.Schema, err error) {
	for _, file := range files {
		text, readErr := os.ReadFile(file)
		var schema *avro.Schema
		if readErr == nil {
			schema, readErr = avro.Parse(string(text))
		}
		if readErr != nil {
			err = errors.Join(err, fmt.Errorf("source.avro.schemas: %s: %w", file, readErr))
			continue
		}
		schemas = append(schemas, schema)
	}
	return schemas, err
}

// Load reads the reference sets in topics to their ends. A consumer calls it before it starts; otherwise the first
// record does.
func (m *Mapping) Load(ctx context.Context) error { return m.sets.Load(ctx) }

// Open decodes one record to a feature, several features or a delete. headers are the producer's.
func (m *Mapping) Open(ctx context.Context, headers []kgo.RecordHeader, value []byte) (envelope.Content, error) {
	if err := m.Load(ctx); err != nil {
		return envelope.Content{}, err
	}
	return m.opener.Open(ctx, headers, value)
}

// Output decodes a feature that the pipeline has written as GeoJSON.
func (m *Mapping) Output(value []byte) (*transform.Feature, error) {
	return m.transformer.Decode(value)
}

// KeyPath decodes a record key of any format. It returns the whole key as compact JSON, and the part that the path of
// sink.key selects.
func (m *Mapping) KeyPath(ctx context.Context, recordKey []byte) (whole, part []byte, err error) {
	path, _ := m.cfg.Sink.Key.Path()
	key, err := m.opener.Key(ctx, recordKey)
	if err != nil {
		return nil, nil, err
	}
	found, err := envelope.Part(key, path)
	if err != nil {
		return nil, nil, err
	}
	return key.AppendJSON(nil), []byte(found.Text()), nil
}

// GeoJSON encodes a feature, before or after it was mapped, whatever the output's format.
func (m *Mapping) GeoJSON(f *transform.Feature) ([]byte, error) { return m.transformer.Encode(f) }

// Map gates a feature and maps it onto the target schema. It returns a *transform.FilteredError if the mapping filters
// the feature out.
func (m *Mapping) Map(ctx context.Context, f *transform.Feature) (*transform.Feature, error) {
	gates, err := m.transformer.Gate(ctx, f)
	if err != nil {
		return nil, err
	}
	return m.transformer.Map(ctx, f, gates)
}

// Repaired returns a feature with the geometry that the gates repaired, as GeoJSON. It returns nil if the gates change
// nothing.
func (m *Mapping) Repaired(ctx context.Context, f *transform.Feature) ([]byte, error) {
	gates, err := m.transformer.Gate(ctx, f)
	if err != nil {
		return nil, err
	}
	repaired := *f
	var changed bool
	if repaired.Geometry, changed = gates.Repaired(); !changed {
		return nil, nil
	}
	return m.GeoJSON(&repaired)
}

// features returns the features of a record: one, those of a collection, or none for a delete.
func features(content *envelope.Content) []*transform.Feature {
	switch {
	case content.Delete:
		return nil
	case content.Features != nil:
		return slices.DeleteFunc(slices.Clone(content.Features), func(f *transform.Feature) bool { return f == nil })
	default:
		return []*transform.Feature{content.Feature}
	}
}

// mapped is [Mapping.Map], but it returns nil for a feature that the mapping filters out.
func (m *Mapping) mapped(ctx context.Context, f *transform.Feature) (*transform.Feature, error) {
	target, err := m.Map(ctx, f)
	if _, filtered := errors.AsType[*transform.FilteredError](err); filtered {
		return nil, nil //nolint:nilnil // neither is how "left out" is said
	}
	return target, err
}
