package transform

import "github.com/switchback-geo/switchback/pkg/crs"

// GeometryRules are the gates that a geometry has to pass, and the changes to it on the way. A gate that accepts or
// repairs a faulty geometry reports it in the flag property.
type GeometryRules struct {
	// SourceCRS is the coordinate reference system of the records: one of [crs.Codes], or another form of its name. A
	// short name (EPSG:4326) means longitude or easting first; the URN and URI forms mean the axis order of the
	// definition, which is latitude first for EPSG:4326. Defaults to EPSG:4326.
	SourceCRS string `yaml:"source_crs,omitempty" jsonschema:"default=EPSG:4326" jsonschema_description:"Coordinate reference system of the source"`

	// DeclaredCRS decides about a CRS that a record names itself, in a crs member (always longitude or easting first) or
	// by the SRID of its geometry. Defaults to must_match.
	DeclaredCRS DeclaredCRS `yaml:"declared_crs,omitempty" jsonschema:"enum=must_match,enum=use" jsonschema_description:"What the coordinate reference system counts for that a record names itself"`

	// TargetCRS is the coordinate reference system of the output, always longitude or easting first. Defaults to
	// EPSG:4326. RFC 7946 allows WGS 84 only: the output names any other system in a crs member (GeoJSON 2008).
	TargetCRS string `yaml:"target_crs,omitempty" jsonschema:"default=EPSG:4326" jsonschema_description:"Coordinate reference system of the output"`

	// Grids names the files that make a change of datum exact to centimetres.
	Grids GridRules `yaml:"grids,omitempty" jsonschema_description:"Grid files that make a change of datum exact to centimetres"`

	// Gates sets the gates below that the file does not name. With strict, a geometry passes if it is valid, simple, not
	// null, not empty, and without heights unless Dimension says otherwise. Defaults to default.
	Gates GateSet `yaml:"gates,omitempty" jsonschema:"enum=default,enum=strict,default=default" jsonschema_description:"What the gates are unless each is named"`

	// Validity decides about a geometry that breaks a rule of OGC Simple Features. Defaults to reject.
	Validity Validity `yaml:"validity,omitempty" jsonschema:"enum=reject,enum=repair,enum=flag" jsonschema_description:"What becomes of a geometry that is not valid by OGC rules"`

	// OutputValidity decides about a geometry that rounding or a projection has made invalid. Defaults to snap.
	OutputValidity OutputValidity `yaml:"output_validity,omitempty" jsonschema:"enum=snap,enum=flag,enum=reject" jsonschema_description:"What becomes of a geometry that is not valid as it would be written"`

	// MaxAreaChange bounds the change of the area by a repair, from 0 to 1: the difference between the area of the rings
	// and that of the result, relative to the larger one. For degrees, the areas are those on the sphere. Nil sets no
	// bound.
	MaxAreaChange *float64 `yaml:"max_area_change,omitempty" jsonschema:"minimum=0,maximum=1" jsonschema_description:"By how much a repair may change the area, relative to the larger one"`

	// Simplicity decides about a line that crosses or touches itself, and about a MultiPoint with a position twice
	// (OGC 06-103r4, section 6.1.2.3). Valid polygons are simple. Defaults to accept, because a loop in a road is
	// valid.
	Simplicity Acceptance `yaml:"simplicity,omitempty" jsonschema:"enum=accept,enum=reject,enum=flag" jsonschema_description:"What becomes of a geometry that is not simple by OGC rules"`

	// FlagProperty is the property that reports accepted faults and repairs. Defaults to switchback_geometry_invalid.
	FlagProperty string `yaml:"flag_property,omitempty" jsonschema:"default=switchback_geometry_invalid" jsonschema_description:"Property that says what was let pass and what was repaired"`

	// Types are the geometry types that pass. Empty accepts all types.
	Types []GeometryType `yaml:"types,omitempty" jsonschema:"enum=Point,enum=MultiPoint,enum=LineString,enum=MultiLineString,enum=Polygon,enum=MultiPolygon,enum=GeometryCollection" jsonschema_description:"Geometry types that pass; all when it is empty"`

	// OtherTypes decides about a geometry of another type. With repair, a Polygon becomes a MultiPolygon of one, a
	// MultiPolygon of one becomes a Polygon, and so on; all else is refused. Defaults to reject.
	OtherTypes Validity `yaml:"other_types,omitempty" jsonschema:"enum=reject,enum=repair,enum=flag" jsonschema_description:"What becomes of a geometry of another type"`

	// NullGeometry decides about a feature with a null geometry, which RFC 7946 section 3.2 allows. Defaults to accept.
	// (The key is not `null`, because that word is not a string in YAML.)
	NullGeometry Acceptance `yaml:"null_geometry,omitempty" jsonschema:"enum=accept,enum=reject,enum=flag" jsonschema_description:"Whether a feature without a geometry passes"`

	// EmptyGeometry decides about a geometry without any position. Defaults to reject.
	EmptyGeometry Acceptance `yaml:"empty_geometry,omitempty" jsonschema:"enum=accept,enum=reject,enum=flag" jsonschema_description:"Whether a geometry without a position passes"`

	// ForeignMembers decides about a geometry with members that RFC 7946 does not define (section 6.1). They are never
	// written, because the output has a new text of the geometry. Accept and flag leave them out. Defaults to reject.
	ForeignMembers Acceptance `yaml:"foreign_members,omitempty" jsonschema:"enum=accept,enum=reject,enum=flag" jsonschema_description:"What becomes of a geometry with members that GeoJSON does not define, which are left out"`

	// Antimeridian decides about a geometry in degrees that crosses the 180th meridian: in degrees of the source, or
	// after a projection in those of the target. After a projection, ignore refuses it, because the projected numbers
	// would describe another geometry. Defaults to ignore.
	Antimeridian Antimeridian `yaml:"antimeridian,omitempty" jsonschema:"enum=ignore,enum=cut,enum=flag,enum=reject" jsonschema_description:"What becomes of a geometry that crosses the 180th meridian"`

	// Dimension decides about heights. Defaults to keep.
	Dimension Dimension `yaml:"dimension,omitempty" jsonschema:"enum=keep,enum=drop_z,enum=require_z,enum=reject_z" jsonschema_description:"What becomes of heights"`

	// BBox decides about the feature's bbox. Defaults to keep.
	BBox BBoxPolicy `yaml:"bbox,omitempty" jsonschema:"enum=keep,enum=drop,enum=compute,enum=check" jsonschema_description:"What becomes of the bbox of the feature"`

	// RoundDecimals is the number of decimals, 0 to 15, to which the two horizontal ordinates are rounded in the output;
	// heights are not rounded. Nil keeps them. The default of a pipeline file is 6, or
	// tolerance.precision_decimal_threshold if that is larger.
	RoundDecimals *int `yaml:"round_decimals,omitempty" jsonschema:"minimum=0,maximum=15" jsonschema_description:"Decimals that coordinates are rounded to"`

	// Coarse decides about a geometry in which every ordinate has fewer decimals than tolerance.min_decimals declares
	// (S0-9). Trailing zeros do not count. Defaults to reject.
	Coarse Acceptance `yaml:"coarse,omitempty" jsonschema:"enum=accept,enum=reject,enum=flag" jsonschema_description:"What becomes of coordinates that are coarser than tolerance.min_decimals declares"`
}

// DefaultFlagProperty is the flag property if the config names no other.
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

// flags reports whether any gate can write the flag property.
func (g GeometryRules) flags() bool {
	return g.Validity != ValidityReject || g.OutputValidity != OutputReject || g.OtherTypes == ValidityFlag || g.Antimeridian == AntimeridianFlag ||
		g.Simplicity == AcceptWithFlag || g.NullGeometry == AcceptWithFlag || g.EmptyGeometry == AcceptWithFlag || g.ForeignMembers == AcceptWithFlag || g.Coarse == AcceptWithFlag
}
