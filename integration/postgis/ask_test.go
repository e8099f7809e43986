package postgis

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/paulmach/orb"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/geometry"
	"github.com/switchback-geo/switchback/pkg/validity"
)

// verdict is what PostGIS says of a geometry.
type verdict struct {
	Valid  bool
	Reason string   // "" for a valid one
	X, Y   *float64 // where it is not valid, when PostGIS says so
	Simple bool
	CCW    bool // all exterior rings run counterclockwise, all holes clockwise
	Area   float64
}

// batch is how many geometries one statement asks about.
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
		must.That(t, err == nil, "%v", err)
		part := must.Get(pgx.CollectRows(rows, pgx.RowToStructByName[verdict]))(t)
		verdicts = append(verdicts, part...)
	}
	must.That(t, len(verdicts) == len(shapes), "%d verdicts for %d geometries", len(verdicts), len(shapes))
	return verdicts
}

// madeValid is the area of what ST_MakeValid makes of a geometry.
func madeValid(t *testing.T, db *pgx.Conn, shape orb.Geometry) (area float64) {
	t.Helper()
	wkb, err := geometry.Append(nil, geometry.WKB, geometry.Geometry{Shape: shape})
	must.That(t, err == nil, "%v", err)
	must.Do(t, db.QueryRow(t.Context(), "SELECT ST_Area(ST_MakeValid(ST_GeomFromWKB($1)))", wkb).Scan(&area))
	return area
}

// judged is our verdict on validity.
func judged(t *testing.T, shape orb.Geometry) *validity.Fault {
	t.Helper()
	fault := must.Get(validity.Valid(t.Context(), shape))(t)
	return fault
}

// isSimple is our verdict on simplicity.
func isSimple(t *testing.T, shape orb.Geometry) *validity.Fault {
	t.Helper()
	fault := must.Get(validity.Simple(t.Context(), shape))(t)
	return fault
}
