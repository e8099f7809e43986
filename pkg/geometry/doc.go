// Package geometry reads and writes geometries in the forms in which records
// carry them beside GeoJSON: well-known binary and well-known text, each in the
// dialect of the standard and in the extended one of PostGIS.
//
//	                bytes   hexadecimal   base64        text
//	OGC 06-103r4    wkb     wkb_hex       wkb_base64    wkt
//	PostGIS         ewkb    ewkb_hex      ewkb_base64   ewkt
//
// The dialects look alike and differ in what a type code means. In the
// standard's, thousands say which ordinates there are (1001 is Point Z). In the
// extended one, high bits say so, and one of them announces a spatial reference
// id. A dialect is named by the caller and in every error, never guessed; the
// extended one also reads the codes of the standard, because it is a superset.
//
// # What the decoders refuse
//
// Input may be hostile, so counts are held against the bytes that are left
// before anything is allocated, nesting is bounded, and nothing may follow the
// end. Beyond the syntax they check what RFC 7946 demands of structure, so that
// what they return is as good as what a GeoJSON decoder returns: lines of two
// positions, closed rings of four, finite ordinates. Curves, surfaces and solids
// are refused by name, because GeoJSON has no form for them. Measures (M) are
// refused too, unless [Limits.DropMeasures] says that they may be dropped.
//
// # Empty geometries and heights
//
// Every type may be empty. The empty point, which has no form of its own in
// well-known binary nor in orb, is one whose longitude and latitude are NaN; see
// [IsEmptyPoint]. A height that is NaN is none: [Geometry.Z] is nil when no
// position has one.
//
// # What the package refuses to do
//
// It does not validate by OGC rules, does not transform coordinates, and gives
// an SRID no meaning: it is the number that was written.
package geometry
