package transform

// Type is a type that a field can be coerced to.
type Type string

// The types of a field. An empty Type takes any value as it is.
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

// Unlisted says what becomes of a value that a value map does not list.
type Unlisted string

// What becomes of a value that a value map does not list.
const (
	UnlistedError Unlisted = "error" // it cannot be used: see on_error
	UnlistedKeep  Unlisted = "keep"  // it stays as it is
)

// Unlisteds lists every [Unlisted].
func Unlisteds() []Unlisted { return []Unlisted{UnlistedError, UnlistedKeep} }

// OnError says what is done with a value that a field cannot take.
type OnError string

// What is done with a value that a field cannot take.
const (
	OnErrorReject  OnError = "reject"  // the feature is refused
	OnErrorNull    OnError = "null"    // the field is null
	OnErrorDefault OnError = "default" // the field has the rule's default
)

// OnErrors lists every [OnError].
func OnErrors() []OnError { return []OnError{OnErrorReject, OnErrorNull, OnErrorDefault} }

// Unmapped says what becomes of properties that no field reads.
type Unmapped string

// What becomes of properties that no field reads.
const (
	UnmappedDrop Unmapped = "drop"
	UnmappedKeep Unmapped = "keep"
)

// Unmappeds lists every [Unmapped].
func Unmappeds() []Unmapped { return []Unmapped{UnmappedDrop, UnmappedKeep} }

// ArrayPolicy says what flattening does with arrays.
type ArrayPolicy string

// What flattening does with arrays.
const (
	ArraysKeep  ArrayPolicy = "keep"  // an array stays one value
	ArraysIndex ArrayPolicy = "index" // each element has a name of its own: tags_0, tags_1
)

// ArrayPolicies lists every [ArrayPolicy].
func ArrayPolicies() []ArrayPolicy { return []ArrayPolicy{ArraysKeep, ArraysIndex} }

// Validity says what becomes of a geometry that breaks an OGC rule.
type Validity string

// What becomes of a geometry that breaks an OGC rule.
const (
	ValidityReject Validity = "reject" // the feature is refused
	ValidityFlag   Validity = "flag"   // the feature passes and carries the reason as a property
)

// Validities lists every [Validity].
func Validities() []Validity { return []Validity{ValidityReject, ValidityFlag} }

// Acceptance says whether something passes a gate.
type Acceptance string

// Whether something passes a gate.
const (
	Accept Acceptance = "accept"
	Reject Acceptance = "reject"
)

// Acceptances lists every [Acceptance].
func Acceptances() []Acceptance { return []Acceptance{Accept, Reject} }

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
