package transform

// Config is the mapping of one pipeline: the `transform` part of its file. The
// zero Config is the identity: every property is kept under its own name and
// the geometry passes the gates with their defaults.
type Config struct {
	// Fields are the fields of the target, in the order in which they are
	// written. No two may write one name.
	Fields []Field `yaml:"fields,omitempty" jsonschema_description:"The fields of the target schema, in their order"`

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

	// PrecisionDecimals is the number of decimals that longitudes and latitudes
	// are rounded to, 0 to 15; nil leaves them as they are. It is not part of
	// the YAML of the mapping: the pipeline file has it as
	// tolerance.precision_decimal_threshold (S0-3).
	PrecisionDecimals *int `yaml:"-" json:"-"`
}

// Field is one rule: it reads a property of the source and writes a property of
// the target.
type Field struct {
	// From is the property to read: its exact name, or a dotted path into
	// nested objects ("owner.address.city", "tags.0"). An exact name wins, so a
	// name that contains dots can be read as it is. Defaults to To.
	From string `yaml:"from,omitempty" jsonschema_description:"Source property: a name or a dotted path; the same as to when it is absent"`

	// To is the property to write. Mandatory.
	To string `yaml:"to" jsonschema:"required" jsonschema_description:"Target property"`

	// Type is the type that the value is coerced to. Empty takes any value as
	// it is.
	Type Type `yaml:"type,omitempty" jsonschema:"enum=string,enum=integer,enum=number,enum=boolean" jsonschema_description:"Type that the value is coerced to; any when it is absent"`

	// Required refuses a feature in which the field has no value.
	Required bool `yaml:"required,omitempty" jsonschema_description:"Refuses a feature in which the field has no value"`

	// NullValues are the values that the source writes for "none", such as
	// "N/A", "" or -9999. A word matches a string of exactly this text, and a
	// number or boolean of this value.
	NullValues []any `yaml:"null_values,omitempty" jsonschema_description:"Values that stand for none, such as N/A"`

	// OnError says what is done with a value that is not of the type. Defaults
	// to reject.
	OnError OnError `yaml:"on_error,omitempty" jsonschema:"enum=reject,enum=null,enum=default" jsonschema_description:"What is done with a value that is not of the type"`

	// Default is the value for `on_error: default`. It stands wherever the
	// source gives no usable one: missing, null, a null word, or not of the type.
	Default any `yaml:"default,omitempty" jsonschema_description:"The value for on_error: default"`
}

// UnmarshalYAML reads a rule. It exists for one word: in YAML `on_error: null`
// is no string but the null value, which a decoder takes for an absent key, and
// then the field would reject where its author wrote null.
func (f *Field) UnmarshalYAML(unmarshal func(any) error) error {
	type plain Field
	if err := unmarshal((*plain)(f)); err != nil {
		return err
	}
	var keys map[string]any
	if err := unmarshal(&keys); err != nil {
		return err
	}
	if value, written := keys["on_error"]; written && value == nil {
		f.OnError = OnErrorNull
	}
	return nil
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

// GeometryRules are the gates that a geometry has to pass.
type GeometryRules struct {
	// SourceCRS is the coordinate reference system of the records. Defaults to
	// EPSG:4326. See [SupportedCRS].
	SourceCRS string `yaml:"source_crs,omitempty" jsonschema:"default=EPSG:4326" jsonschema_description:"Coordinate reference system of the source"`

	// TargetCRS is the coordinate reference system of the output. Defaults to
	// EPSG:4326.
	TargetCRS string `yaml:"target_crs,omitempty" jsonschema:"default=EPSG:4326" jsonschema_description:"Coordinate reference system of the output"`

	// Validity says what becomes of a geometry that breaks a rule of OGC Simple
	// Features. Defaults to reject.
	Validity Validity `yaml:"validity,omitempty" jsonschema:"enum=reject,enum=flag" jsonschema_description:"What becomes of a geometry that is not valid by OGC rules"`

	// FlagProperty is the property that `validity: flag` writes the reason to.
	// Defaults to switchback_geometry_invalid.
	FlagProperty string `yaml:"flag_property,omitempty" jsonschema:"default=switchback_geometry_invalid" jsonschema_description:"Property that validity: flag writes the reason to"`

	// Types are the geometry types that pass. Empty lets all pass.
	Types []GeometryType `yaml:"types,omitempty" jsonschema_description:"Geometry types that pass; all when it is empty"`

	// NullGeometry says whether a feature whose geometry is null passes, which
	// RFC 7946 section 3.2 allows. Defaults to accept. (The key is not `null`,
	// because in YAML that word is no string.)
	NullGeometry Acceptance `yaml:"null_geometry,omitempty" jsonschema:"enum=accept,enum=reject" jsonschema_description:"Whether a feature without a geometry passes"`

	// EmptyGeometry says whether a geometry without a position passes. Defaults
	// to reject.
	EmptyGeometry Acceptance `yaml:"empty_geometry,omitempty" jsonschema:"enum=accept,enum=reject" jsonschema_description:"Whether a geometry without a position passes"`
}

// Limits bound what one record may contain. Each is checked on the token
// stream, before what it bounds is built. Zero means the default; there is no
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

	// MaxLiteralBytes bounds one string, name or number as it is written.
	// Defaults to 1048576 (1 MiB).
	MaxLiteralBytes int `yaml:"max_literal_bytes,omitempty" jsonschema:"default=1048576,minimum=0" jsonschema_description:"Bytes of one string or name"`

	// MaxNumberBytes bounds one number as it is written. Defaults to 512.
	MaxNumberBytes int `yaml:"max_number_bytes,omitempty" jsonschema:"default=512,minimum=0" jsonschema_description:"Bytes of one number"`
}

// DefaultFlagProperty is the property that `validity: flag` writes to unless
// the config names another.
const DefaultFlagProperty = "switchback_geometry_invalid"

// WithDefaults returns c with every absent value replaced by its default. [New]
// applies it by itself; it is exported for tools that show a whole config. The
// slices and maps of c are shared, not copied; Flatten is copied.
func (c Config) WithDefaults() Config {
	setDefault(&c.Unmapped, UnmappedKeep)
	if c.Flatten != nil {
		flatten := *c.Flatten
		setDefault(&flatten.Separator, "_")
		setDefault(&flatten.MaxDepth, 5)
		setDefault(&flatten.Arrays, ArraysKeep)
		c.Flatten = &flatten
	}
	setDefault(&c.Geometry.SourceCRS, "EPSG:4326")
	setDefault(&c.Geometry.TargetCRS, "EPSG:4326")
	setDefault(&c.Geometry.Validity, ValidityReject)
	setDefault(&c.Geometry.FlagProperty, DefaultFlagProperty)
	setDefault(&c.Geometry.NullGeometry, Accept)
	setDefault(&c.Geometry.EmptyGeometry, Reject)
	c.Limits = c.Limits.withDefaults()
	return c
}

func (l Limits) withDefaults() Limits {
	setDefault(&l.MaxBytes, 8<<20)
	setDefault(&l.MaxDepth, 64)
	setDefault(&l.MaxCollectionDepth, 8)
	setDefault(&l.MaxPositions, 500_000)
	setDefault(&l.MaxRings, 50_000)
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
