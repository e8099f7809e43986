package transform

// Type is a type that a field can be coerced to.
type Type string

// The types of a field. An empty Type accepts any value unchanged.
const (
	TypeString   Type = "string"
	TypeInteger  Type = "integer" // 64-bit signed, exact
	TypeNumber   Type = "number"  // within the range of a double, its digits as written
	TypeDecimal  Type = "decimal" // a string of decimal digits, exact and without exponent
	TypeBoolean  Type = "boolean"
	TypeDate     Type = "date"     // a string, RFC 3339 full-date: 2026-11-21
	TypeDateTime Type = "datetime" // a string, RFC 3339 in UTC: 2026-11-21T10:00:00Z
	TypeEnum     Type = "enum"     // a string, one of the rule's values
	TypeArray    Type = "array"
	TypeObject   Type = "object"
)

// Types lists every [Type].
func Types() []Type {
	return []Type{TypeString, TypeInteger, TypeNumber, TypeDecimal, TypeBoolean, TypeDate, TypeDateTime, TypeEnum, TypeArray, TypeObject}
}

// Unlisted is what happens to a value that a value map does not list.
type Unlisted string

// What happens to a value that a value map does not list.
const (
	UnlistedError Unlisted = "error" // it cannot be used: see on_error
	UnlistedKeep  Unlisted = "keep"  // it stays as it is
)

// Unlisteds lists every [Unlisted].
func Unlisteds() []Unlisted { return []Unlisted{UnlistedError, UnlistedKeep} }

// OnError is what happens to a value that does not satisfy its field.
type OnError string

// What happens to a value that does not satisfy its field.
const (
	OnErrorReject  OnError = "reject"  // the feature is refused
	OnErrorNull    OnError = "null"    // the field is null
	OnErrorDefault OnError = "default" // the field has the rule's default
)

// OnErrors lists every [OnError].
func OnErrors() []OnError { return []OnError{OnErrorReject, OnErrorNull, OnErrorDefault} }

// Unmapped is what happens to properties that no field reads.
type Unmapped string

// What happens to properties that no field reads.
const (
	UnmappedDrop Unmapped = "drop"
	UnmappedKeep Unmapped = "keep"
)

// Unmappeds lists every [Unmapped].
func Unmappeds() []Unmapped { return []Unmapped{UnmappedDrop, UnmappedKeep} }

// ArrayPolicy is what flattening does with arrays.
type ArrayPolicy string

// What flattening does with arrays.
const (
	ArraysKeep  ArrayPolicy = "keep"  // an array stays one value
	ArraysIndex ArrayPolicy = "index" // each element has a separate name: tags_0, tags_1
)

// ArrayPolicies lists every [ArrayPolicy].
func ArrayPolicies() []ArrayPolicy { return []ArrayPolicy{ArraysKeep, ArraysIndex} }

// Validity is what happens to a geometry that breaks an OGC rule.
type Validity string

// What happens to a geometry that breaks an OGC rule.
const (
	ValidityReject Validity = "reject" // the feature is refused
	ValidityRepair Validity = "repair" // the geometry is repaired and flagged, or else the feature is refused
	ValidityFlag   Validity = "flag"   // the feature passes and carries the reason as a property
)

// Validities lists every [Validity].
func Validities() []Validity { return []Validity{ValidityReject, ValidityRepair, ValidityFlag} }

// OutputValidity is what happens to a geometry that became invalid after the gates judged it, because rounding or a
// projection moved its positions.
type OutputValidity string

// What happens to a geometry that would be written invalid.
const (
	OutputSnap   OutputValidity = "snap"   // its edges are routed through the grid so that it is valid, and the flag property reports it
	OutputFlag   OutputValidity = "flag"   // it passes, and the flag property has the reason
	OutputReject OutputValidity = "reject" // the feature is refused
)

// OutputValidities lists every [OutputValidity].
func OutputValidities() []OutputValidity {
	return []OutputValidity{OutputSnap, OutputFlag, OutputReject}
}

// GateSet names the defaults of the gates.
type GateSet string

// The defaults of the gates.
const (
	GatesDefault GateSet = "default"
	GatesStrict  GateSet = "strict" // valid, simple, not null, not empty, without heights unless dimension says otherwise
)

// GateSets lists every [GateSet].
func GateSets() []GateSet { return []GateSet{GatesDefault, GatesStrict} }

// Acceptance decides whether a feature passes a gate.
type Acceptance string

// Whether something passes a gate.
const (
	Accept         Acceptance = "accept"
	Reject         Acceptance = "reject"
	AcceptWithFlag Acceptance = "flag" // it passes, and the flag property reports it
)

// Acceptances lists every [Acceptance].
func Acceptances() []Acceptance { return []Acceptance{Accept, Reject, AcceptWithFlag} }

// DeclaredCRS is what happens to a coordinate reference system that the record itself names.
type DeclaredCRS string

// What happens to a coordinate reference system that a record names itself.
const (
	DeclaredMustMatch DeclaredCRS = "must_match" // a feature is refused if it names another system than source_crs
	DeclaredUse       DeclaredCRS = "use"        // it is the system of the record; source_crs applies to records that name none
)

// DeclaredCRSs lists every [DeclaredCRS].
func DeclaredCRSs() []DeclaredCRS { return []DeclaredCRS{DeclaredMustMatch, DeclaredUse} }

// Antimeridian is what happens to a geometry that crosses the 180th meridian: one with two neighbouring positions more
// than 180 degrees of longitude apart.
type Antimeridian string

// What happens to a geometry that crosses the 180th meridian.
const (
	AntimeridianIgnore Antimeridian = "ignore"
	AntimeridianCut    Antimeridian = "cut" // in two, as RFC 7946 section 3.1.9 recommends
	AntimeridianFlag   Antimeridian = "flag"
	AntimeridianReject Antimeridian = "reject"
)

// Antimeridians lists every [Antimeridian].
func Antimeridians() []Antimeridian {
	return []Antimeridian{AntimeridianIgnore, AntimeridianCut, AntimeridianFlag, AntimeridianReject}
}

// Dimension is what happens to heights.
type Dimension string

// What happens to heights.
const (
	DimensionKeep     Dimension = "keep"
	DimensionDropZ    Dimension = "drop_z"
	DimensionRequireZ Dimension = "require_z" // every position has one
	DimensionRejectZ  Dimension = "reject_z"  // no position has one
)

// Dimensions lists every [Dimension].
func Dimensions() []Dimension {
	return []Dimension{DimensionKeep, DimensionDropZ, DimensionRequireZ, DimensionRejectZ}
}

// BBoxPolicy is what happens to the feature's bbox.
type BBoxPolicy string

// What happens to the feature's bbox.
const (
	BBoxKeep    BBoxPolicy = "keep" // unchanged; computed again if the geometry was moved or its extent changed
	BBoxDrop    BBoxPolicy = "drop"
	BBoxCompute BBoxPolicy = "compute" // of the geometry that is written
	BBoxCheck   BBoxPolicy = "check"   // refuses a feature whose bbox is not that of its geometry, and otherwise keeps it
)

// BBoxPolicies lists every [BBoxPolicy].
func BBoxPolicies() []BBoxPolicy {
	return []BBoxPolicy{BBoxKeep, BBoxDrop, BBoxCompute, BBoxCheck}
}

// GeometryType is one of the seven geometry types of RFC 7946 section 1.4.
type GeometryType string

// The geometry types of RFC 7946.
const (
	Point              GeometryType = "Point"
	MultiPoint         GeometryType = "MultiPoint"
	LineString         GeometryType = "LineString"
	MultiLineString    GeometryType = "MultiLineString"
	Polygon            GeometryType = "Polygon"
	MultiPolygon       GeometryType = "MultiPolygon"
	GeometryCollection GeometryType = "GeometryCollection"
)

// GeometryTypes lists every [GeometryType].
func GeometryTypes() []GeometryType {
	return []GeometryType{Point, MultiPoint, LineString, MultiLineString, Polygon, MultiPolygon, GeometryCollection}
}
