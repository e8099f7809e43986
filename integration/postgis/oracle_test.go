package postgis

import (
	"cmp"
	"errors"
	"flag"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/paulmach/orb"

	"github.com/switchback-geo/switchback/examples"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/rings"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/pkg/geometry"
	"github.com/switchback-geo/switchback/pkg/geometry/repair"
	"github.com/switchback-geo/switchback/pkg/transform"
	"github.com/switchback-geo/switchback/pkg/validity"
)

// The oracle for repair, cut and snap is GEOS, through PostGIS: ST_MakeValid for single rings (or ST_SymDifference of
// the ring's triangles), ST_SymDifference for the rings of a polygon, which is the even-odd rule, and ST_Union for
// polygons. The short form draws 1,000 geometries of each kind, the long form (SWITCHBACK_TEST_LONG=1, or
// -postgis.count) 20,000.

var countFlag = flag.Int("postgis.count", 0, "geometries of each kind that repair, cut and snap are compared on; 0: 1,000, or 20,000 with SWITCHBACK_TEST_LONG=1")

// drawn returns how many geometries of each kind are compared.
func drawn() int {
	switch {
	case *countFlag > 0:
		return *countFlag
	case os.Getenv("SWITCHBACK_TEST_LONG") != "":
		return 20_000
	}
	return 1_000
}

// tools are SQL functions of the oracle: the even-odd rule with doubles, and on a fine grid.
const tools = `
	CREATE FUNCTION xor(geometry, geometry) RETURNS geometry LANGUAGE sql IMMUTABLE AS 'SELECT ST_SymDifference($1, $2)';
	CREATE AGGREGATE xor_all(geometry) (sfunc = xor, stype = geometry, initcond = 'POLYGON EMPTY');
	CREATE FUNCTION xor_on_grid(geometry, geometry) RETURNS geometry LANGUAGE sql IMMUTABLE AS 'SELECT ST_CollectionExtract(ST_SymDifference($1, $2, 1e-11), 3)';
	CREATE AGGREGATE xor_all_on_grid(geometry) (sfunc = xor_on_grid, stype = geometry, initcond = 'POLYGON EMPTY');
	CREATE FUNCTION clip(geometry, geometry) RETURNS geometry LANGUAGE sql IMMUTABLE AS 'SELECT ST_CollectionExtract(ST_Intersection($1, $2), 3)';
	CREATE FUNCTION clip_on_grid(geometry, geometry) RETURNS geometry LANGUAGE sql IMMUTABLE AS 'SELECT ST_CollectionExtract(ST_Intersection($1, $2, 1e-11), 3)';`

// evenOdd computes PostGIS's result for the polygons $1, in column t of the relation theirs.
const evenOdd = `
	WITH given AS (SELECT n, ST_GeomFromWKB(w) AS g, ST_GeomFromWKB(o) AS ours FROM unnest($1::bytea[], $2::bytea[]) WITH ORDINALITY AS u(w, o, n)),
	members AS (SELECT n, (d).path AS p, (d).geom AS polygon FROM given, LATERAL ST_Dump(g) AS d),
	parts AS (SELECT n, p, (r).path AS rp, ST_CollectionExtract(ST_MakeValid((r).geom), 3) AS ring FROM members, LATERAL ST_DumpRings(polygon) AS r),
	odd AS (SELECT n, p, xor_all(ring ORDER BY rp) AS polygon FROM parts GROUP BY n, p),
	theirs AS (SELECT n, ST_Union(polygon) AS t FROM odd GROUP BY n)`

// onGrid makes GEOS compute on a grid. This is slower, but never loses a piece, as computing with doubles sometimes
// does.
func onGrid(sql string) string {
	return strings.NewReplacer("xor_all(", "xor_all_on_grid(", "ST_Union(polygon)", "ST_CollectionExtract(ST_Union(polygon, 1e-11), 3)",
		"clip(", "clip_on_grid(", "ST_SymDifference(ours, t)", "xor_on_grid(ours, t)").Replace(sql)
}

// comparison is PostGIS's result for our geometry and its own.
type comparison struct {
	Valid      bool
	Reason     string
	Difference float64 // area of the symmetric difference to PostGIS's result
	Area       float64 // of PostGIS's result
	Length     float64 // of the boundary of PostGIS's result
	Own        float64 // of the boundary of our result
}

// compare returns the comparisons of our results. sql follows evenOdd, and its relation theirs has in t the geometry to
// compare with.
func compare(t *testing.T, db *pgx.Conn, sql, theirs string, given, ours []orb.Geometry, arguments ...any) []comparison {
	t.Helper()
	return queryBatches(t, db, comparisonQuery(sql, theirs), given, ours, arguments...)
}

// comparisonQuery returns the complete query.
func comparisonQuery(sql, theirs string) string {
	return evenOdd + sql + `
		SELECT ST_IsValid(ours) AS valid, ST_IsValidReason(ours) AS reason, ST_Area(ST_SymDifference(ours, t)) AS difference,
			ST_Area(t) AS area, ST_Perimeter(t) AS length, ST_Perimeter(ours) AS own
		FROM given JOIN ` + theirs + ` USING (n) ORDER BY n`
}

// queryBatches runs the query in batches.
func queryBatches(t *testing.T, db *pgx.Conn, sql string, given, ours []orb.Geometry, arguments ...any) []comparison {
	t.Helper()
	var out []comparison
	for begin := 0; begin < len(given); begin += batch {
		end := min(begin+batch, len(given))
		rows := must.Get(db.Query(t.Context(), sql, append([]any{encoded(t, given[begin:end]), encoded(t, ours[begin:end])}, arguments...)...))(t)
		part := must.Get(pgx.CollectRows(rows, pgx.RowToStructByName[comparison]))(t)
		out = append(out, part...)
	}
	must.That(t, len(out) == len(given), "%d judgements of %d geometries", len(out), len(given))
	return out
}

func encoded(t *testing.T, shapes []orb.Geometry) [][]byte {
	t.Helper()
	out := make([][]byte, len(shapes))
	for i, shape := range shapes {
		var err error
		if out[i], err = geometry.Append(nil, geometry.WKB, geometry.Geometry{Shape: shape}); err != nil {
			t.Fatalf("%v: %v", shape, err)
		}
	}
	return out
}

// oracle returns a database with the tools.
func oracle(t *testing.T) *pgx.Conn {
	t.Helper()
	db := database(t)
	must.Get(db.Exec(t.Context(), tools))(t)
	return db
}

func unbounded() repair.Limits { return repair.Limits{Crossings: 1_000_000, Positions: 1_000_000} }

// done returns the geometry of a result. It is empty if nothing is left.
func done(t *testing.T, given orb.Geometry, result *repair.Result, err error) orb.Geometry {
	t.Helper()
	if failed, ok := errors.AsType[*repair.Error](err); ok && failed.Reason == repair.NothingLeft {
		return orb.MultiPolygon{}
	}
	must.That(t, err == nil, "%v: %v", err, given)
	return result.Shape
}

// polygonsAtRandom draws geometries. With several, each one has two polygons or more.
func polygonsAtRandom(random rings.Random, n int, several bool) []orb.Geometry {
	out := make([]orb.Geometry, n)
	for i := range out {
		polygons := random.Polygons()
		for several && len(polygons) < 2 {
			polygons = append(polygons, random.Polygons()...)
		}
		if !several {
			out[i] = polygons[0]
		} else {
			out[i] = polygons
		}
	}
	return out
}

func TestPostGIS_S0_8_repair_is_the_even_odd_rule(t *testing.T) {
	testrun.Proof(t)
	db := oracle(t)
	for name, several := range map[string]bool{"polygons": false, "multipolygons": true} {
		t.Run(name, func(t *testing.T) {
			given := polygonsAtRandom(rings.NewRandom(seed(t)), sized(t, drawn()), several)
			ours := make([]orb.Geometry, len(given))
			for i, shape := range given {
				result, err := repair.Repair(t.Context(), shape, nil, unbounded())
				ours[i] = done(t, shape, result, err)
			}
			judgements := compare(t, db, "", "theirs", given, ours)
			arbitrate(t, db, "", "theirs", given, ours, judgements, exactly)
			wantWithin(t, given, ours, judgements, exactly)
		})
	}
}

// exactly is the tolerance for results that were computed with doubles.
func exactly(j comparison) float64 { return 1e-9*j.Area + 1e-10*j.Length + 1e-12 }

// arbitrate repeats the comparison where GEOS and our code disagree. ST_MakeValid does not follow the even-odd rule for
// very tangled rings. ST_SymDifference of the triangles between the first position of a ring and each of its edges does,
// and no triangle needs a repair.
func arbitrate(t *testing.T, db *pgx.Conn, sql, theirs string, given, ours []orb.Geometry, judgements []comparison, limit func(comparison) float64, arguments ...any) {
	t.Helper()
	var at []int
	var fans, again []orb.Geometry
	for i, j := range judgements {
		if j.Valid && j.Difference > limit(j) {
			at, fans, again = append(at, i), append(fans, fanned(given[i])), append(again, ours[i])
		}
	}
	query := onGrid(comparisonQuery(sql, theirs))
	for i, j := range queryBatches(t, db, query, fans, again, arguments...) {
		judgements[at[i]] = j
	}
	t.Logf("%d of %d geometries were judged once more, by triangles", len(at), len(given))
	expect.That(t, len(at) <= len(given)/20, "that are too many")
}

// fanned replaces the rings of polygons by triangles that have the same parity everywhere.
func fanned(shape orb.Geometry) orb.Geometry {
	if polygon, single := shape.(orb.Polygon); single {
		shape = orb.MultiPolygon{polygon}
	}
	var out orb.MultiPolygon
	for _, polygon := range shape.(orb.MultiPolygon) {
		var triangles orb.Polygon
		for _, ring := range polygon {
			for i := 1; i+1 < len(ring); i++ {
				a, b, c := ring[0], ring[i], ring[i+1]
				if (b[0]-a[0])*(c[1]-a[1]) != (b[1]-a[1])*(c[0]-a[0]) {
					triangles = append(triangles, orb.Ring{a, b, c, a})
				}
			}
		}
		out = append(out, triangles)
	}
	return out
}

// Polygons that are valid on their own and overlap: the structure method of GEOS unites them, too.
func TestPostGIS_S0_8_repair_is_the_structure_of_GEOS(t *testing.T) {
	testrun.Nightly(t)
	db := oracle(t)
	random := rings.NewRandom(seed(t))
	var given, ours []orb.Geometry
	for len(given) < drawn() {
		var polygons orb.MultiPolygon
		for len(polygons) < 3 {
			for _, polygon := range random.Polygons() {
				if validityFault(t, polygon) == nil {
					polygons = append(polygons, polygon)
				}
			}
		}
		result, err := repair.Repair(t.Context(), polygons, nil, unbounded())
		given, ours = append(given, polygons), append(ours, done(t, polygons, result, err))
	}
	const structure = `, made AS (SELECT n, ST_CollectionExtract(ST_MakeValid(g, 'method=structure'), 3) AS t FROM given)`
	rows := compare(t, db, structure, "made", given, ours)
	wantWithin(t, given, ours, rows, exactly)
}

// folded maps PostGIS's result for polygons with longitudes beyond ±180 back to ±180.
const folded = `, whole AS (SELECT n, t AS w FROM theirs), folded AS (
		SELECT n, ST_Union(ARRAY[clip(w, ST_MakeEnvelope(-180, -90, 180, 90)),
			ST_Translate(clip(w, ST_MakeEnvelope(180, -90, 540, 90)), -360, 0),
			ST_Translate(clip(w, ST_MakeEnvelope(-540, -90, -180, 90)), 360, 0)]) AS t FROM whole)`

func TestPostGIS_RFC7946_3_1_9_cut(t *testing.T) {
	testrun.Nightly(t)
	db := oracle(t)
	s := seed(t)
	random, shapes := rand.New(rand.NewPCG(s, 1)), rings.NewRandom(s)
	var given, ours []orb.Geometry
	for len(given) < drawn() {
		polygons := shapes.Polygons()
		lat := random.Float64()*100 - 70
		wrapped := polygons.Clone()
		for i, polygon := range polygons {
			for j, ring := range polygon {
				for k := range ring {
					// The oracle gets longitudes that continue beyond 180. Our code gets them within ±180.
					ring[k] = orb.Point{ring[k][0] + 160, max(-90, min(90, ring[k][1]/2+lat))}
					wrapped[i][j][k] = ring[k]
					if ring[k][0] > 180 {
						wrapped[i][j][k][0] = ring[k][0] - 360
					}
				}
			}
		}
		if !repair.Crosses(wrapped) {
			continue
		}
		result, err := repair.Cut(t.Context(), wrapped, nil, unbounded())
		given, ours = append(given, polygons), append(ours, done(t, wrapped, result, err))
	}
	judgements := compare(t, db, folded, "folded", given, ours)
	arbitrate(t, db, folded, "folded", given, ours, judgements, exactly)
	wantWithin(t, given, ours, judgements, exactly)
}

// Snapped geometries are valid at their precision. They are within a cell of the original and of the result of
// ST_ReducePrecision.
func TestPostGIS_S0_3_snap(t *testing.T) {
	testrun.Nightly(t)
	db := oracle(t)
	random := rings.NewRandom(seed(t))
	for _, decimals := range []int{0, 1, 2} {
		cell := math.Pow10(-decimals)
		given := polygonsAtRandom(random, drawn()/3+1, decimals != 1)
		ours := make([]orb.Geometry, len(given))
		for i, shape := range given {
			result, err := repair.Snap(t.Context(), shape, nil, decimals, unbounded())
			ours[i] = done(t, shape, result, err)
		}
		const reduced = `, reduced AS (SELECT n, ST_ReducePrecision(t, $3) AS t FROM theirs)`
		for _, c := range []struct {
			sql, theirs string
			cells       float64 // maximum distance of an edge
			arguments   []any
		}{{"", "theirs", 1.5, nil}, {reduced, "reduced", 2, []any{cell}}} {
			// A sliver may collapse on PostGIS's grid and not on ours. Then only our result has its edges.
			limit := func(j comparison) float64 { return c.cells * cell * (cmp.Or(j.Length, j.Own) + 4*cell) }
			judgements := compare(t, db, c.sql, c.theirs, given, ours, c.arguments...)
			arbitrate(t, db, c.sql, c.theirs, given, ours, judgements, limit, c.arguments...)
			wantWithin(t, given, ours, judgements, limit)
		}
	}
}

// Published boundaries, some of them invalid, are valid to GEOS after they are repaired, or snapped to a precision, and
// cover the area of the even-odd rule.
func TestPostGIS_S0_8_S0_3_counties(t *testing.T) {
	testrun.Proof(t)
	db, reader := oracle(t), must.Get(transform.New(transform.Config{}))(t)
	var given []orb.Geometry
	for f, err := range examples.Counties() {
		must.Do(t, err)
		if county, err := reader.Decode(f.JSON); err == nil { // otherwise a ring has too few positions
			given = append(given, county.Geometry.Shape)
		}
	}
	for _, decimals := range []int{-1, 6, 5, 2} {
		limit, ours := exactly, make([]orb.Geometry, len(given))
		for i, shape := range given {
			result, err := repair.Repair(t.Context(), shape, nil, unbounded())
			if decimals >= 0 {
				result, err = repair.Snap(t.Context(), shape, nil, decimals, unbounded())
				cell := math.Pow10(-decimals)
				limit = func(j comparison) float64 { return 1.5 * cell * (cmp.Or(j.Length, j.Own) + 4*cell) }
			}
			ours[i] = done(t, shape, result, err)
		}
		for i, j := range compare(t, db, "", "theirs", given, ours) {
			expect.That(t, j.Valid && j.Difference <= limit(j), "%d decimals: %s, and differs by an area of %v of %v: %.200v", decimals, j.Reason, j.Difference, j.Area, given[i])
		}
	}
	expect.Equal(t, len(given), 3231-19, "counties")
}

// wantWithin checks that PostGIS considers the results valid, and that they differ from its own by at most the tolerated
// area.
func wantWithin(t *testing.T, given, ours []orb.Geometry, judgements []comparison, limit func(comparison) float64) {
	t.Helper()
	changed, worst := 0, 0.0
	for i, j := range judgements {
		expect.That(t, j.Valid && j.Difference <= limit(j), "%v becomes %v: %s, and differs by an area of %v of %v", given[i], ours[i], j.Reason, j.Difference, j.Area)
		if !orb.Equal(given[i], ours[i]) {
			changed++
		}
		worst = max(worst, j.Difference)
	}
	t.Logf("%d geometries, %d of them changed; the largest difference is an area of %.3g", len(judgements), changed, worst)
	expect.That(t, changed >= len(judgements)/4, "that proves nothing")
}

// verdict is PostGIS's verdict on a geometry.
type verdict struct {
	Valid  bool
	Reason string   // "" for a valid geometry
	X, Y   *float64 // position of the fault, if PostGIS returns one
	Simple bool
	CCW    bool // all exterior rings run counterclockwise, all holes clockwise
	Area   float64
}

// batch is the number of geometries per statement.
const batch = 1000

// ask sends geometries to PostGIS as WKB and returns a verdict for each.
func ask(t *testing.T, db *pgx.Conn, shapes []orb.Geometry) []verdict {
	t.Helper()
	verdicts := make([]verdict, 0, len(shapes))
	for begin := 0; begin < len(shapes); begin += batch {
		var wkb [][]byte
		for _, shape := range shapes[begin:min(begin+batch, len(shapes))] {
			bytes, err := geometry.Append(nil, geometry.WKB, geometry.Geometry{Shape: shape})
			must.That(t, err == nil, "%v: %v", shape, err)
			wkb = append(wkb, bytes)
		}
		rows, err := db.Query(t.Context(), `
			SELECT d.valid, coalesce(d.reason, '') AS reason, ST_X(d.location) AS x, ST_Y(d.location) AS y,
				ST_IsSimple(g) AS simple, ST_IsPolygonCCW(g) AS ccw, ST_Area(g) AS area
			FROM (SELECT ST_GeomFromWKB(w) AS g, n FROM unnest($1::bytea[]) WITH ORDINALITY AS t(w, n)) AS s, LATERAL ST_IsValidDetail(g) AS d
			ORDER BY n`, wkb)
		must.Do(t, err)
		part := must.Get(pgx.CollectRows(rows, pgx.RowToStructByName[verdict]))(t)
		verdicts = append(verdicts, part...)
	}
	must.That(t, len(verdicts) == len(shapes), "%d verdicts for %d geometries", len(verdicts), len(shapes))
	return verdicts
}

// madeValid returns the area of a geometry after ST_MakeValid.
func madeValid(t *testing.T, db *pgx.Conn, shape orb.Geometry) (area float64) {
	t.Helper()
	wkb := must.Get(geometry.Append(nil, geometry.WKB, geometry.Geometry{Shape: shape}))(t)
	must.Do(t, db.QueryRow(t.Context(), "SELECT ST_Area(ST_MakeValid(ST_GeomFromWKB($1)))", wkb).Scan(&area))
	return area
}

// validityFault returns our verdict on validity.
func validityFault(t *testing.T, shape orb.Geometry) *validity.Fault {
	t.Helper()
	return must.Get(validity.Valid(t.Context(), shape))(t)
}

// isSimple returns our verdict on simplicity.
func isSimple(t *testing.T, shape orb.Geometry) *validity.Fault {
	t.Helper()
	return must.Get(validity.Simple(t.Context(), shape))(t)
}
