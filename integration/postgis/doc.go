// Package postgis holds the verdicts of pkg/validity and the work of pkg/transform
// against those of a real PostGIS: ST_IsValid, ST_IsValidDetail, ST_IsSimple,
// ST_IsPolygonCCW, ST_Area. It asks about every geometry of the published
// conformance data that the decoder takes (CORPORA_DIR), about polygons and lines
// drawn at random from a fixed seed, and about shapes that are hard for others.
//
//	go test ./integration/postgis -v                       counts, and each kind of difference with its reason
//	go test ./integration/postgis -postgis.seed 42         another seed
//
// SWITCHBACK_TEST_TIER=proofs runs the gates and the repair on few geometries, SWITCHBACK_TEST_TIER=nightly everything.
//
// It holds tests only. Which server is used, and how to demand one, is told in
// internal/testkit/postgis.
package postgis
