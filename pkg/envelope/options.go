package envelope

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/switchback-geo/switchback/pkg/envelope/avro"
	"github.com/switchback-geo/switchback/pkg/geometry"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// Options are how records are opened. The zero Options read GeoJSON.
type Options struct {
	// Format is the format of every record. Defaults to geojson.
	Format Format

	// Data is the format of the data of a CloudEvent. Empty uses the event's data content type.
	Data Format

	// Split is what happens to a FeatureCollection of GeoJSON or JSON-FG. Defaults to none.
	Split Split

	// SeparateFeatures means that a feature of a collection that cannot be read does not fail the whole record: see
	// Content.Faults.
	SeparateFeatures bool

	// MaxFeatures bounds the features of a collection. Defaults to 10000.
	MaxFeatures int

	// Row maps a row to a feature.
	Row Row

	// Unsupported is what happens to a JSON-FG place that GeoJSON cannot represent. Defaults to reject.
	Unsupported Unsupported

	// Debezium is how change events are written.
	Debezium DebeziumOptions

	// Registry finds the schemas of the Confluent wire format. Without it, such records are refused.
	Registry Registry

	// Schemas are those of single-object encodings, found by their fingerprints. The published event schema is always
	// included.
	Schemas []*avro.Schema
}

// Row maps a row to a feature. Paths are names, or names joined by dots.
type Row struct {
	// ID is the column of the ID. Defaults to "id" if it exists; a row without it has no ID.
	ID string

	// Geometry is the column of the geometry, which must exist; null is no geometry. Defaults to "geometry".
	Geometry string

	// GeometryFormat is its form. Defaults to struct for Debezium, else geojson.
	GeometryFormat GeometryFormat

	// Properties is a column that holds the properties. Empty uses every column that is neither ID nor geometry.
	Properties string

	// DropMeasures drops the M ordinates of a geometry. Without it such a geometry is refused.
	DropMeasures bool
}

// DebeziumOptions are how change events are written.
type DebeziumOptions struct {
	// Serialization defaults to json.
	Serialization Serialization

	// Unwrapped tells that the row is not inside an envelope, because Debezium's ExtractNewRecordState has extracted it.
	// A row whose __deleted is true is a delete; columns that begin with two underscores are dropped.
	Unwrapped bool

	// UnavailableValue is the connector's unavailable.value.placeholder: a text, or bytes after "hex:". A row that has
	// it in a column that is read is refused, also a row of Avro. Defaults to [DefaultUnavailableValue].
	UnavailableValue string

	// Reads reports whether a column of a row is read, in addition to those that [Row] names. The placeholder is dropped
	// from a column that is not. nil reads all.
	Reads func(column string) bool
}

// Registry finds the schema that a record was written with.
type Registry interface {
	// SchemaByID returns the schema with an ID. It must cache, because it is called for every record. The class of an
	// error tells whether another attempt may succeed.
	SchemaByID(ctx context.Context, id int) (*avro.Schema, error)
}

// Opener opens records. It is safe for concurrent use.
type Opener struct {
	options     Options
	transformer *transform.Transformer
	limits      transform.Limits
	schemas     map[avro.Fingerprint]*avro.Schema
	unavailable placeholder
}

// New checks the options. The transformer reads the GeoJSON inside, and its limits apply to every format.
func New(t *transform.Transformer, options Options) (*Opener, error) {
	if t == nil {
		return nil, errors.New("envelope: there is no transformer")
	}
	options = options.withDefaults()
	if err := options.check(); err != nil {
		return nil, err
	}
	unavailable, err := newPlaceholder(options.Debezium.UnavailableValue)
	if err != nil {
		return nil, fmt.Errorf("envelope: debezium.unavailable_value: %w", err)
	}
	event, err := eventSchema()
	if err != nil {
		return nil, err
	}
	o := &Opener{options: options, transformer: t, limits: t.Config().Limits, unavailable: unavailable, schemas: map[avro.Fingerprint]*avro.Schema{event.Fingerprint(): event}}
	for _, schema := range options.Schemas {
		o.schemas[schema.Fingerprint()] = schema
	}
	return o, nil
}

func (o Options) withDefaults() Options {
	o.Format = cmp.Or(o.Format, GeoJSON)
	o.Split = cmp.Or(o.Split, SplitNone)
	o.MaxFeatures = cmp.Or(max(o.MaxFeatures, 0), 10_000)
	o.Unsupported = cmp.Or(o.Unsupported, UnsupportedReject)
	o.Debezium.Serialization = cmp.Or(o.Debezium.Serialization, SerializationJSON)
	o.Debezium.UnavailableValue = cmp.Or(o.Debezium.UnavailableValue, DefaultUnavailableValue)
	return o
}

// check refuses unknown words.
func (o Options) check() error {
	return errors.Join(
		known("format", o.Format, Formats()),
		known("data", o.Data, append(Formats(), "")),
		known("split", o.Split, Splits()),
		known("unsupported", o.Unsupported, Unsupporteds()),
		known("debezium.serialization", o.Debezium.Serialization, Serializations()),
		known("row.geometry_format", o.Row.GeometryFormat, append(GeometryFormats(), "")),
		notNested(o.Data),
	)
}

func known[T ~string](name string, word T, words []T) error {
	if slices.Contains(words, word) {
		return nil
	}
	return fmt.Errorf("envelope: %s: %q is none of %q", name, string(word), words)
}

func notNested(data Format) error {
	if data == CloudEvents || data == Auto {
		return fmt.Errorf("envelope: data: a CloudEvent does not carry %q", string(data))
	}
	return nil
}

// geometryLimits converts the limits of the transform for a geometry in another form.
func (o *Opener) geometryLimits() geometry.Limits {
	return geometry.Limits{
		MaxDepth: o.limits.MaxCollectionDepth, MaxPositions: o.limits.MaxPositions, MaxParts: o.limits.MaxRings,
		DropMeasures: o.options.Row.DropMeasures,
	}
}
