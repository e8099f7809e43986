package transform

import "github.com/switchback-geo/switchback/pkg/crs"

// Config is the mapping of one pipeline: the `transform` part of its file. The zero Config is the identity: it keeps
// every property under its own name, and the geometry passes the gates with their defaults.
type Config struct {
	// ID is the rule for the id of the target feature (S0-6). Nil keeps the id of the source.
	ID *IDRule `yaml:"id,omitempty" jsonschema_description:"What the id of the target feature is; the source's when it is absent"`

	// Filter is an expression over the source feature. If it is false, the feature is left out: [Transformer.Gate]
	// returns a [*FilteredError]. An empty filter keeps all features. [Field.Expr] describes the language; a filter has
	// no target.
	Filter string `yaml:"filter,omitempty" jsonschema:"maxLength=4096" jsonschema_description:"Expression over the source feature; a feature for which it is false is left out"`

	// Fields are the fields of the target, in the order in which they are written. Two fields must not write the same
	// name.
	Fields []Field `yaml:"fields,omitempty" jsonschema_description:"The fields of the target schema, in their order"`

	// References are the reference sets that fields refer to, with their sources. The package reads no file and no
	// topic: see Sets.
	References []Reference `yaml:"references,omitempty" jsonschema_description:"Reference sets that fields refer to"`

	// Constants are fields with the same value in every feature. They are written after all others, sorted by name. A
	// constant replaces a source property of its name. A field with the same name is a fault.
	Constants map[string]any `yaml:"constants,omitempty" jsonschema_description:"Fields with the same value in every feature"`

	// Flatten turns nested objects into flat names. Nil keeps them nested.
	Flatten *Flatten `yaml:"flatten,omitempty" jsonschema_description:"Turns nested objects into flat names"`

	// Unmapped decides about properties that no field reads, and about foreign members of the feature. Defaults to keep.
	Unmapped Unmapped `yaml:"unmapped,omitempty" jsonschema:"enum=drop,enum=keep" jsonschema_description:"What becomes of properties that no field reads"`

	// Geometry has the gates that a geometry has to pass.
	Geometry GeometryRules `yaml:"geometry,omitempty" jsonschema_description:"The gates that a geometry has to pass"`

	// Limits bound the content of one record.
	Limits Limits `yaml:"limits,omitempty" jsonschema_description:"What one record may contain at most"`

	// MinDecimals is the declared number of decimals of coordinates, 1 to 15. Nil declares nothing. It is not part of
	// the YAML of the mapping: the pipeline file has it as tolerance.min_decimals (S0-9).
	MinDecimals *int `yaml:"-" json:"-"`

	// Sets are the reference sets by name. They are not part of the YAML: the caller of [New] loads them. [New] refuses
	// a field that refers to a set that is not here; [Check] looks in References instead.
	Sets map[string]Set `yaml:"-" json:"-"`

	// Grids are the grid files of geometry.grids.folder. They are not part of the YAML: the caller of [New] opens them
	// ([crs.OpenGrids]). [New] refuses a folder whose files are not here.
	Grids *crs.Grids `yaml:"-" json:"-"`

	// Lines maps a place such as "fields[2]" to its line in the file, for [Error.RuleLine]. It may be nil.
	Lines map[string]int `yaml:"-" json:"-"`
}

// Reference is a reference set and its source (S0-8).
type Reference struct {
	// Name is the name by which fields refer to the set. Mandatory.
	Name string `yaml:"name" jsonschema:"required" jsonschema_description:"What fields call the set"`

	// File is the file with the keys: a CSV with a header line (.csv) or one JSON object per line (.ndjson). It is read
	// before the start and again when it changes. A set has either a file or a topic.
	File string `yaml:"file,omitempty" jsonschema_description:"File with the keys: .csv with a header line, or .ndjson"`

	// Topic is a compacted topic with the keys. It is read to its end before the start and followed from then on. A
	// tombstone removes its key.
	Topic string `yaml:"topic,omitempty" jsonschema_description:"Compacted topic with the keys, instead of a file"`

	// Column is the column, or the member, with the keys. It is mandatory for a file. For a topic without a column, the
	// record key is the key.
	Column string `yaml:"column,omitempty" jsonschema_description:"Column of the CSV file, or member of the objects, that has the keys; of a topic without it the keys of its records"`
}

// Set is a reference set: the keys of another table. Has must be fast, must do no I/O, and must be safe for concurrent
// use.
type Set interface {
	// Has reports whether the set contains a key with exactly this text.
	Has(key string) bool
}

// Flatten turns {"owner": {"name": "x"}} into {"owner_name": "x"}.
type Flatten struct {
	// Separator is the text between the joined names. Defaults to "_".
	Separator string `yaml:"separator,omitempty" jsonschema:"default=_" jsonschema_description:"Stands between the joined names"`

	// MaxDepth is the number of levels to join. Deeper levels stay nested. Defaults to 5.
	MaxDepth int `yaml:"max_depth,omitempty" jsonschema:"default=5,minimum=0" jsonschema_description:"How many levels are joined"`

	// Arrays decides about arrays. Defaults to keep.
	Arrays ArrayPolicy `yaml:"arrays,omitempty" jsonschema:"enum=keep,enum=index" jsonschema_description:"Keeps arrays, or gives each element a name of its own"`
}

// Limits bound the content of one record and the size of its result. The decoder checks the former on the token stream,
// before it builds a value. Zero means the default. No limit can be turned off.
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

	// MaxCrossings bounds the number of places, other than their ends, where edges of a geometry meet. It applies to
	// repairs, cuts and snaps to the grid of the output. Four places per edge are not counted. Defaults to 20000.
	MaxCrossings int `yaml:"max_crossings,omitempty" jsonschema:"default=20000,minimum=0" jsonschema_description:"Places where the edges of a geometry meet, when it is repaired, cut or snapped"`

	// MaxOutputPositions bounds the positions of a repaired, cut or snapped geometry. Defaults to 500000.
	MaxOutputPositions int `yaml:"max_output_positions,omitempty" jsonschema:"default=500000,minimum=0" jsonschema_description:"Positions of a geometry that was repaired, cut or snapped"`

	// MaxOutputBytes bounds the text of a written feature. Defaults to 16777216 (16 MiB).
	MaxOutputBytes int `yaml:"max_output_bytes,omitempty" jsonschema:"default=16777216,minimum=0" jsonschema_description:"Bytes of a feature that is written"`

	// MaxLiteralBytes bounds one string, name or number as it is written.
	// Defaults to 1048576 (1 MiB).
	MaxLiteralBytes int `yaml:"max_literal_bytes,omitempty" jsonschema:"default=1048576,minimum=0" jsonschema_description:"Bytes of one string or name"`

	// MaxNumberBytes bounds one number as it is written. Defaults to 512.
	MaxNumberBytes int `yaml:"max_number_bytes,omitempty" jsonschema:"default=512,minimum=0" jsonschema_description:"Bytes of one number"`
}

// WithDefaults returns c with the default for every absent value. [New] applies it. Tools use it to show a whole config.
// The result shares the slices and maps of c, except for copies of Flatten and ID.
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

// setDefault sets a zero value to fallback.
func setDefault[T comparable](value *T, fallback T) {
	var zero T
	if *value == zero {
		*value = fallback
	}
}
