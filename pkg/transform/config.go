package transform

import "github.com/switchback-geo/switchback/pkg/crs"

// Config is the mapping of one pipeline: the `transform` part of its file. The
// zero Config is the identity: every property is kept under its own name and
// the geometry passes the gates with their defaults.
type Config struct {
	// ID says what the id of the target feature is (S0-6). Nil keeps the
	// source's.
	ID *IDRule `yaml:"id,omitempty" jsonschema_description:"What the id of the target feature is; the source's when it is absent"`

	// Filter is an expression over the source feature. One for which it is false
	// is left out: [Transformer.Gate] says so with a [*FilteredError]. Empty
	// keeps all. See [Field.Expr] for the language; target is not there yet.
	Filter string `yaml:"filter,omitempty" jsonschema:"maxLength=4096" jsonschema_description:"Expression over the source feature; a feature for which it is false is left out"`

	// Fields are the fields of the target, in the order in which they are
	// written. No two may write one name.
	Fields []Field `yaml:"fields,omitempty" jsonschema_description:"The fields of the target schema, in their order"`

	// References are the reference sets that fields refer to, and where they come
	// from. The package reads no file and no topic: see Sets.
	References []Reference `yaml:"references,omitempty" jsonschema_description:"Reference sets that fields refer to"`

	// Constants are fields with one value for every feature, written after all
	// others in the order of their names. A constant replaces a source property
	// of its name; a field of its name is a fault.
	Constants map[string]any `yaml:"constants,omitempty" jsonschema_description:"Fields with the same value in every feature"`

	// Flatten turns nested objects into flat names. Nil leaves them nested.
	Flatten *Flatten `yaml:"flatten,omitempty" jsonschema_description:"Turns nested objects into flat names"`

	// Unmapped says what becomes of properties that no field reads, and of
	// foreign members of the feature. Defaults to keep.
	Unmapped Unmapped `yaml:"unmapped,omitempty" jsonschema:"enum=drop,enum=keep" jsonschema_description:"What becomes of properties that no field reads"`

	// Geometry are the gates that a geometry has to pass.
	Geometry GeometryRules `yaml:"geometry,omitempty" jsonschema_description:"The gates that a geometry has to pass"`

	// Limits bound what one record may contain.
	Limits Limits `yaml:"limits,omitempty" jsonschema_description:"What one record may contain at most"`

	// MinDecimals is how many decimals coordinates are declared to have, 1 to 15;
	// nil declares nothing. It is not part of the YAML of the mapping: the
	// pipeline file has it as tolerance.min_decimals (S0-9).
	MinDecimals *int `yaml:"-" json:"-"`

	// Sets are the reference sets that fields refer to by name. They are not
	// part of the YAML: the one who runs the mapping loads them. A field that refers
	// to a set which is not here is a fault of [New]; [Check] asks References.
	Sets map[string]Set `yaml:"-" json:"-"`

	// Grids are the grid files of geometry.grids.folder. They are not part of the
	// YAML: the caller of [New] opens them ([crs.OpenGrids]). A folder whose files
	// are not here is a fault of [New].
	Grids *crs.Grids `yaml:"-" json:"-"`

	// Lines are the lines of the file that a place such as "fields[2]" was
	// written in, for [Error.RuleLine]. It may be nil.
	Lines map[string]int `yaml:"-" json:"-"`
}

// Reference is a reference set and where it comes from (S0-8).
type Reference struct {
	// Name is what fields call the set. Mandatory.
	Name string `yaml:"name" jsonschema:"required" jsonschema_description:"What fields call the set"`

	// File is the file with the keys: a CSV with a header line (.csv) or one
	// JSON object per line (.ndjson). It is read before the start, and again when
	// it changes. A set has either a file or a topic.
	File string `yaml:"file,omitempty" jsonschema_description:"File with the keys: .csv with a header line, or .ndjson"`

	// Topic is a compacted topic with the keys. It is read to its end before the
	// start and followed from there; a tombstone takes its key away.
	Topic string `yaml:"topic,omitempty" jsonschema_description:"Compacted topic with the keys, instead of a file"`

	// Column is the column, or the member, that has the keys. Mandatory for a
	// file; of a topic without it the record's own key is the key.
	Column string `yaml:"column,omitempty" jsonschema_description:"Column of the CSV file, or member of the objects, that has the keys; of a topic without it the keys of its records"`
}

// Set is a reference set: the keys of another table. Has must be quick, do no
// I/O, and be safe for concurrent use.
type Set interface {
	// Has reports whether the set has a key of exactly this text.
	Has(key string) bool
}

// Flatten turns {"owner": {"name": "x"}} into {"owner_name": "x"}.
type Flatten struct {
	// Separator stands between the joined names. Defaults to "_".
	Separator string `yaml:"separator,omitempty" jsonschema:"default=_" jsonschema_description:"Stands between the joined names"`

	// MaxDepth is how many levels are joined; what lies deeper stays nested.
	// Defaults to 5.
	MaxDepth int `yaml:"max_depth,omitempty" jsonschema:"default=5,minimum=0" jsonschema_description:"How many levels are joined"`

	// Arrays says what becomes of arrays. Defaults to keep.
	Arrays ArrayPolicy `yaml:"arrays,omitempty" jsonschema:"enum=keep,enum=index" jsonschema_description:"Keeps arrays, or gives each element a name of its own"`
}

// Limits bound what one record may contain, and what may become of it. The former
// are checked on the token stream, before what they bound is built. Zero means the default; there is no
// "unlimited".
type Limits struct {
	// MaxBytes bounds the record. Defaults to 8388608 (8 MiB).
	MaxBytes int `yaml:"max_bytes,omitempty" jsonschema:"default=8388608,minimum=0" jsonschema_description:"Bytes of a record"`

	// MaxDepth bounds the nesting of objects and arrays. Defaults to 64; at
	// most 1000.
	MaxDepth int `yaml:"max_depth,omitempty" jsonschema:"default=64,minimum=0,maximum=1000" jsonschema_description:"Nesting of objects and arrays"`

	// MaxCollectionDepth bounds the nesting of geometry collections. Defaults
	// to 8.
	MaxCollectionDepth int `yaml:"max_collection_depth,omitempty" jsonschema:"default=8,minimum=0" jsonschema_description:"Nesting of geometry collections"`

	// MaxPositions bounds the positions of a geometry. Defaults to 500000.
	MaxPositions int `yaml:"max_positions,omitempty" jsonschema:"default=500000,minimum=0" jsonschema_description:"Positions of a geometry"`

	// MaxRings bounds the arrays of a geometry that are not positions: rings,
	// lines, polygons. Defaults to 50000.
	MaxRings int `yaml:"max_rings,omitempty" jsonschema:"default=50000,minimum=0" jsonschema_description:"Rings, lines and polygons of a geometry"`

	// MaxCrossings bounds how often the edges of a geometry meet elsewhere than at
	// their ends, when it is repaired, cut or snapped to the grid of the output; four
	// times for each edge are free. Defaults to 20000.
	MaxCrossings int `yaml:"max_crossings,omitempty" jsonschema:"default=20000,minimum=0" jsonschema_description:"Places where the edges of a geometry meet, when it is repaired, cut or snapped"`

	// MaxOutputPositions bounds the positions of a geometry that was repaired, cut or
	// snapped. Defaults to 500000.
	MaxOutputPositions int `yaml:"max_output_positions,omitempty" jsonschema:"default=500000,minimum=0" jsonschema_description:"Positions of a geometry that was repaired, cut or snapped"`

	// MaxOutputBytes bounds the text of a feature that is written. Defaults to
	// 16777216 (16 MiB).
	MaxOutputBytes int `yaml:"max_output_bytes,omitempty" jsonschema:"default=16777216,minimum=0" jsonschema_description:"Bytes of a feature that is written"`

	// MaxLiteralBytes bounds one string, name or number as it is written.
	// Defaults to 1048576 (1 MiB).
	MaxLiteralBytes int `yaml:"max_literal_bytes,omitempty" jsonschema:"default=1048576,minimum=0" jsonschema_description:"Bytes of one string or name"`

	// MaxNumberBytes bounds one number as it is written. Defaults to 512.
	MaxNumberBytes int `yaml:"max_number_bytes,omitempty" jsonschema:"default=512,minimum=0" jsonschema_description:"Bytes of one number"`
}

// WithDefaults returns c with every absent value replaced by its default. [New]
// applies it by itself; it is exported for tools that show a whole config. The
// slices and maps of c are shared, not copied; Flatten and ID are copied.
func (c Config) WithDefaults() Config {
	setDefault(&c.Unmapped, UnmappedKeep)
	if c.Flatten != nil {
		flatten := *c.Flatten
		setDefault(&flatten.Separator, "_")
		setDefault(&flatten.MaxDepth, 5)
		setDefault(&flatten.Arrays, ArraysKeep)
		c.Flatten = &flatten
	}
	c.Geometry = c.Geometry.withDefaults()
	c.Limits = c.Limits.withDefaults()
	if c.ID != nil {
		id := *c.ID
		if id.Expr == "" {
			setDefault(&id.From, "id")
		}
		c.ID = &id
	}
	return c
}

func (l Limits) withDefaults() Limits {
	setDefault(&l.MaxBytes, 8<<20)
	setDefault(&l.MaxDepth, 64)
	setDefault(&l.MaxCollectionDepth, 8)
	setDefault(&l.MaxPositions, 500_000)
	setDefault(&l.MaxRings, 50_000)
	setDefault(&l.MaxCrossings, 20_000)
	setDefault(&l.MaxOutputPositions, 500_000)
	setDefault(&l.MaxOutputBytes, 16<<20)
	setDefault(&l.MaxLiteralBytes, 1<<20)
	setDefault(&l.MaxNumberBytes, 512)
	return l
}

// setDefault fills a value that was left at its zero.
func setDefault[T comparable](value *T, fallback T) {
	var zero T
	if *value == zero {
		*value = fallback
	}
}
