// Package geometry reads and writes geometries in the forms in which records carry them besides GeoJSON: well-known
// binary and well-known text, each in the dialect of the standard and in the extended one of PostGIS.
//
//	                bytes   hexadecimal   base64        text
//	OGC 06-103r4    wkb     wkb_hex       wkb_base64    wkt
//	PostGIS         ewkb    ewkb_hex      ewkb_base64   ewkt
//
// The dialects look alike and differ in the meaning of a type code. In the standard's, thousands name the ordinates
// (1001 is Point Z). In the extended one, high bits do, and one of them announces a spatial reference ID. The caller and
// every error name a dialect; it is never guessed. The extended one also reads the codes of the standard, because it is
// a superset.
//
// # What the decoders refuse
//
// Input may be hostile. Counts are compared with the remaining bytes before anything is allocated, nesting is bounded,
// and nothing may follow the end. Beyond the syntax the decoders check what RFC 7946 requires of the structure, so that
// their result is as good as that of a GeoJSON decoder: lines of two positions, closed rings of four, finite ordinates.
// Curves, surfaces and solids are refused by name, because GeoJSON cannot represent them. Measures (M) are refused too,
// unless [Limits.DropMeasures] allows to drop them.
//
// # Empty geometries and heights
//
// Every type may be empty. The empty point, which has no form of its own in well-known binary nor in orb, is one whose
// longitude and latitude are NaN; see [IsEmptyPoint]. A NaN height is no height: [Geometry.Z] is nil if no position has
// one.
//
// # Shapes
//
// [EachLine], [Moved], [Positions], [Bounds] and [DoubledArea] work on every type of shape, for this module's packages and for callers.
//
// # What the package refuses to do
//
// It does not validate by OGC rules, does not transform coordinates, and does not interpret an SRID: it is the number
// that was written.
package geometry
