package transform

import "github.com/switchback-geo/switchback/pkg/crs"

// GeometryRules are the gates that a geometry has to pass, and what is done to
// it on the way. A gate that lets pass what is not right, or repairs it, says so
// in the flag property.
type GeometryRules struct {
	// SourceCRS is the coordinate reference system of the records: one of
	// [SupportedCRS], or another form of its name. A short name (EPSG:4326) means
	// longitude or easting first; the URN and URI forms mean the axis order of
	// the definition, which is latitude first for EPSG:4326. Defaults to
	// EPSG:4326.
	SourceCRS string `yaml:"source_crs,omitempty" jsonschema:"default=EPSG:4326" jsonschema_description:"Coordinate reference system of the source"`

	// DeclaredCRS says what the system counts for that a record names itself, in
	// a crs member (there always longitude or easting first) or by the SRID of
	// its geometry. Defaults to must_match.
	DeclaredCRS DeclaredCRS `yaml:"declared_crs,omitempty" jsonschema:"enum=must_match,enum=use" jsonschema_description:"What the coordinate reference system counts for that a record names itself"`

	// TargetCRS is the coordinate reference system of the output, always
	// longitude or easting first. Defaults to EPSG:4326. RFC 7946 has WGS 84
	// only: with any other one the output names it in a crs member (GeoJSON 2008).
	TargetCRS string `yaml:"target_crs,omitempty" jsonschema:"default=EPSG:4326" jsonschema_description:"Coordinate reference system of the output"`

	// Grids name the files that make a change of datum exact to centimetres.
	Grids GridRules `yaml:"grids,omitempty" jsonschema_description:"Grid files that make a change of datum exact to centimetres"`

	// Gates says what the gates below are unless the file names each: strict lets
	// pass what is valid, simple, not null, not empty, and has no heights unless
	// Dimension says otherwise. Defaults to default.
	Gates GateSet `yaml:"gates,omitempty" jsonschema:"enum=default,enum=strict,default=default" jsonschema_description:"What the gates are unless each is named"`

	// Validity says what becomes of a geometry that breaks a rule of OGC Simple
	// Features. Defaults to reject.
	Validity Validity `yaml:"validity,omitempty" jsonschema:"enum=reject,enum=repair,enum=flag" jsonschema_description:"What becomes of a geometry that is not valid by OGC rules"`

	// OutputValidity says what becomes of a geometry that is not valid as it would be
	// written, because rounding or a projection has moved its positions. Defaults to
	// snap.
	OutputValidity OutputValidity `yaml:"output_validity,omitempty" jsonschema:"enum=snap,enum=flag,enum=reject" jsonschema_description:"What becomes of a geometry that is not valid as it would be written"`

	// MaxAreaChange is by how much a repair may change the area, from 0 to 1: the
	// difference of the area of the rings and that of the result, relative to the
	// larger one; in degrees the areas are those on the sphere. Nil sets no bound.
	MaxAreaChange *float64 `yaml:"max_area_change,omitempty" jsonschema:"minimum=0,maximum=1" jsonschema_description:"By how much a repair may change the area, relative to the larger one"`

	// Simplicity says what becomes of a line that crosses or touches itself, and
	// of a MultiPoint with a position twice (OGC 06-103r4, section 6.1.2.3).
	// Polygons that are valid are simple. Defaults to accept: a loop in a road is
	// no fault.
	Simplicity Acceptance `yaml:"simplicity,omitempty" jsonschema:"enum=accept,enum=reject,enum=flag" jsonschema_description:"What becomes of a geometry that is not simple by OGC rules"`

	// FlagProperty is the property that says what was let pass and what was
	// repaired. Defaults to switchback_geometry_invalid.
	FlagProperty string `yaml:"flag_property,omitempty" jsonschema:"default=switchback_geometry_invalid" jsonschema_description:"Property that says what was let pass and what was repaired"`

	// Types are the geometry types that pass. Empty lets all pass.
	Types []GeometryType `yaml:"types,omitempty" jsonschema:"enum=Point,enum=MultiPoint,enum=LineString,enum=MultiLineString,enum=Polygon,enum=MultiPolygon,enum=GeometryCollection" jsonschema_description:"Geometry types that pass; all when it is empty"`

	// OtherTypes says what becomes of a geometry of another type: repair turns a
	// Polygon into a MultiPolygon of one, a MultiPolygon of one into a Polygon,
	// and so on, and refuses the rest. Defaults to reject.
	OtherTypes Validity `yaml:"other_types,omitempty" jsonschema:"enum=reject,enum=repair,enum=flag" jsonschema_description:"What becomes of a geometry of another type"`

	// NullGeometry says whether a feature whose geometry is null passes, which
	// RFC 7946 section 3.2 allows. Defaults to accept. (The key is not `null`,
	// because in YAML that word is no string.)
	NullGeometry Acceptance `yaml:"null_geometry,omitempty" jsonschema:"enum=accept,enum=reject,enum=flag" jsonschema_description:"Whether a feature without a geometry passes"`

	// EmptyGeometry says whether a geometry without a position passes. Defaults
	// to reject.
	EmptyGeometry Acceptance `yaml:"empty_geometry,omitempty" jsonschema:"enum=accept,enum=reject,enum=flag" jsonschema_description:"Whether a geometry without a position passes"`

	// ForeignMembers says what becomes of a geometry with members that RFC 7946 does not
	// define (section 6.1): they are not carried, since what is written is another
	// text of the geometry. Accept and flag leave them out. Defaults to reject.
	ForeignMembers Acceptance `yaml:"foreign_members,omitempty" jsonschema:"enum=accept,enum=reject,enum=flag" jsonschema_description:"What becomes of a geometry with members that GeoJSON does not define, which are left out"`

	// Antimeridian says what becomes of a geometry that crosses the 180th meridian in
	// degrees: in those of the source, or after a projection in those of the target.
	// There ignore refuses it, since the projected numbers would mean another
	// geometry. Defaults to ignore.
	Antimeridian Antimeridian `yaml:"antimeridian,omitempty" jsonschema:"enum=ignore,enum=cut,enum=flag,enum=reject" jsonschema_description:"What becomes of a geometry that crosses the 180th meridian"`

	// Dimension says what becomes of heights. Defaults to keep.
	Dimension Dimension `yaml:"dimension,omitempty" jsonschema:"enum=keep,enum=drop_z,enum=require_z,enum=reject_z" jsonschema_description:"What becomes of heights"`

	// BBox says what becomes of the feature's bbox. Defaults to keep.
	BBox BBoxPolicy `yaml:"bbox,omitempty" jsonschema:"enum=keep,enum=drop,enum=compute,enum=check" jsonschema_description:"What becomes of the bbox of the feature"`

	// RoundDecimals is the number of decimals that the two ordinates of what is
	// written are rounded to, 0 to 15; heights are not. Nil leaves them as they are.
	// The default of a pipeline file is 6, or tolerance.precision_decimal_threshold
	// where that is more.
	RoundDecimals *int `yaml:"round_decimals,omitempty" jsonschema:"minimum=0,maximum=15" jsonschema_description:"Decimals that coordinates are rounded to"`

	// Coarse says what becomes of a geometry of which every ordinate has fewer
	// decimals than tolerance.min_decimals declares (S0-9). Zeros at the end do
	// not count. Defaults to reject.
	Coarse Acceptance `yaml:"coarse,omitempty" jsonschema:"enum=accept,enum=reject,enum=flag" jsonschema_description:"What becomes of coordinates that are coarser than tolerance.min_decimals declares"`
}

// DefaultFlagProperty is the flag property unless the config names another.
const DefaultFlagProperty = "switchback_geometry_invalid"

func (g GeometryRules) withDefaults() GeometryRules {
	setDefault(&g.SourceCRS, "EPSG:4326")
	setDefault(&g.DeclaredCRS, DeclaredMustMatch)
	setDefault(&g.TargetCRS, "EPSG:4326")
	setDefault(&g.Grids.Outside, crs.OutsideRefuse)
	setDefault(&g.Gates, GatesDefault)
	if g.Gates == GatesStrict {
		setDefault(&g.Simplicity, Reject)
		setDefault(&g.NullGeometry, Reject)
		setDefault(&g.Dimension, DimensionRejectZ)
	}
	setDefault(&g.Validity, ValidityReject)
	setDefault(&g.OutputValidity, OutputSnap)
	setDefault(&g.Simplicity, Accept)
	setDefault(&g.FlagProperty, DefaultFlagProperty)
	setDefault(&g.OtherTypes, ValidityReject)
	setDefault(&g.NullGeometry, Accept)
	setDefault(&g.EmptyGeometry, Reject)
	setDefault(&g.ForeignMembers, Reject)
	setDefault(&g.Antimeridian, AntimeridianIgnore)
	setDefault(&g.Dimension, DimensionKeep)
	setDefault(&g.BBox, BBoxKeep)
	setDefault(&g.Coarse, Reject)
	return g
}

// flags reports whether any gate may write the flag property.
func (g GeometryRules) flags() bool {
	return g.Validity != ValidityReject || g.OutputValidity != OutputReject || g.OtherTypes == ValidityFlag || g.Antimeridian == AntimeridianFlag ||
		g.Simplicity == AcceptWithFlag || g.NullGeometry == AcceptWithFlag || g.EmptyGeometry == AcceptWithFlag || g.ForeignMembers == AcceptWithFlag || g.Coarse == AcceptWithFlag
}
