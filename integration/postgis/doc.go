// Package postgis compares pkg/validity and pkg/transform with a real PostGIS: ST_IsValid, ST_IsValidDetail,
// ST_IsSimple, ST_IsPolygonCCW, ST_Area. It checks every geometry of the published conformance data that the decoder
// accepts (CORPORA_DIR), random polygons and lines from a fixed seed, and shapes that are known to be difficult.
//
//	go test ./integration/postgis -v                       counts, and each kind of difference with its reason
//	go test ./integration/postgis -postgis.seed 42         another seed
//
// SWITCHBACK_TEST_TIER=proofs runs the gates and the repair on few geometries, SWITCHBACK_TEST_TIER=nightly everything.
//
// See internal/testkit/postgis for which server is used and how to demand one.
package postgis
