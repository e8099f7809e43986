package envelope

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/switchback-geo/switchback/pkg/envelope/avro"
	"github.com/switchback-geo/switchback/pkg/geometry"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// Options say how records are opened. The zero Options read GeoJSON.
type Options struct {
	// Format is the format of every record. Defaults to geojson.
	Format Format

	// Data is the format of what a CloudEvent carries. Empty goes by the event's
	// data content type.
	Data Format

	// Split says what becomes of a FeatureCollection of GeoJSON or JSON-FG.
	// Defaults to none.
	Split Split

	// Apart says that a feature of a collection that cannot be read is a fault of
	// its own, and not one of the record: see Content.Faults.
	Apart bool

	// MaxFeatures bounds the features of a collection. Defaults to 10000.
	MaxFeatures int

	// Row says how a row becomes a feature.
	Row Row

	// Unsupported says what becomes of a JSON-FG place that GeoJSON has no form
	// for. Defaults to reject.
	Unsupported Unsupported

	// Debezium says how change events are written.
	Debezium DebeziumOptions

	// Registry finds the schemas of the Confluent wire format. Without one, such
	// records are refused.
	Registry Registry

	// Schemas are those of single-object encodings, found by their fingerprints.
	// The published event schema is always among them.
	Schemas []*avro.Schema
}

// Row says how a row becomes a feature. Paths are names, or names joined by
// dots.
type Row struct {
	// ID is the column of the id. Defaults to "id" when there is one; a row
	// without it has no id.
	ID string

	// Geometry is the column of the geometry, which must be there; null is no
	// geometry. Defaults to "geometry".
	Geometry string

	// GeometryFormat is its form. Defaults to struct for Debezium, else geojson.
	GeometryFormat GeometryFormat

	// Properties is a column that holds the properties. Empty takes every column
	// that is neither id nor geometry.
	Properties string

	// DropMeasures reads the M ordinates of a geometry and leaves them out.
	// Without it such a geometry is refused.
	DropMeasures bool
}

// DebeziumOptions say how change events are written.
type DebeziumOptions struct {
	// Serialization defaults to json.
	Serialization Serialization

	// Unwrapped says that the row is not inside of an envelope, because
	// Debezium's ExtractNewRecordState has taken it out. A row whose __deleted is
	// true is a delete; columns that begin with two underscores are left out.
	Unwrapped bool

	// UnavailableValue is the connector's unavailable.value.placeholder: a text, or bytes behind "hex:". A row that
	// has it in a column that is read is refused, also a row of Avro. Defaults to [DefaultUnavailableValue].
	UnavailableValue string

	// Reads reports whether a column of a row is read, other than those that [Row] names. The placeholder is left out of one
	// that is not. Nil reads all.
	Reads func(column string) bool
}

// Registry finds the schema that a record was written with.
type Registry interface {
	// SchemaByID returns the schema of an id. It caches: it is asked for every
	// record. An error that may pass has a class that says so.
	SchemaByID(ctx context.Context, id int) (*avro.Schema, error)
}

// Opener opens records. It may be used by many goroutines at once.
type Opener struct {
	options     Options
	transformer *transform.Transformer
	limits      transform.Limits
	schemas     map[avro.Fingerprint]*avro.Schema
	unavailable placeholder
}

// New checks the options. The transformer reads the GeoJSON that is inside, and
// its limits hold for every format.
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
	if o.Format == "" {
		o.Format = GeoJSON
	}
	if o.Split == "" {
		o.Split = SplitNone
	}
	if o.MaxFeatures <= 0 {
		o.MaxFeatures = 10_000
	}
	if o.Unsupported == "" {
		o.Unsupported = UnsupportedReject
	}
	if o.Debezium.Serialization == "" {
		o.Debezium.Serialization = SerializationJSON
	}
	if o.Debezium.UnavailableValue == "" {
		o.Debezium.UnavailableValue = DefaultUnavailableValue
	}
	return o
}

// check refuses words that do not exist.
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

// geometryLimits are the limits of the transform, for a geometry in another form.
func (o *Opener) geometryLimits() geometry.Limits {
	return geometry.Limits{
		MaxDepth: o.limits.MaxCollectionDepth, MaxPositions: o.limits.MaxPositions, MaxParts: o.limits.MaxRings,
		DropMeasures: o.options.Row.DropMeasures,
	}
}
