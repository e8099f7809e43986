package postgis

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/paulmach/orb"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/postgis"
	"github.com/switchback-geo/switchback/internal/testkit/rings"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/pkg/geometry"
	"github.com/switchback-geo/switchback/pkg/validity"
)

// near is the tolerance for the position of a crossing, which is rounded.
const near = 1e-7

// meeting makes PostGIS count how often the rings of a geometry pass through a point: an edge through the point counts
// 2, one that ends there 1. An ordinary corner has 2. Folded means that two edges which end there overlap.
const meeting = `
	SELECT coalesce(sum(CASE WHEN ends THEN 1 ELSE 2 END), 0)::int AS ways,
		coalesce(bool_or((SELECT count(*) FROM near o WHERE o.n = near.n AND o.edge <> near.edge
			AND ST_Dimension(ST_Intersection(o.geom, near.geom)) = 1) > 0), false) AS folded
	FROM asked LEFT JOIN near USING (n) GROUP BY n ORDER BY n`

const meetingWith = `
	WITH asked AS (
		SELECT n, ST_GeomFromWKB(w) AS g, ST_Point(x, y) AS p
		FROM unnest($1::bytea[], $2::float8[], $3::float8[]) WITH ORDINALITY AS t(w, x, y, n)
	), near AS (
		SELECT n, s.path AS edge, s.geom, ST_DWithin(ST_StartPoint(s.geom), p, $4) OR ST_DWithin(ST_EndPoint(s.geom), p, $4) AS ends
		FROM asked, LATERAL ST_DumpSegments(g) AS s WHERE ST_Length(s.geom) > 0 AND ST_DWithin(s.geom, p, $4)
	)`

// At the position of a reported fault, rings meet that must not. PostGIS often reports another fault of the same
// geometry, so the test queries our position.
func TestPostGIS_S0_8_places(t *testing.T) {
	testrun.Nightly(t)
	db := database(t)
	shapes := randomPolygons(rings.NewRandom(seed(t)), 1_500)
	var unlike []orb.Geometry
	var faults []*validity.Fault
	same := 0
	for i, theirs := range ask(t, db, shapes) {
		fault := validityFault(t, shapes[i])
		if fault == nil {
			continue
		}
		if theirs.X != nil && math.Hypot(fault.At[0]-*theirs.X, fault.At[1]-*theirs.Y) < near {
			same++
			continue
		}
		switch fault.Rule {
		case validity.NestedRings, validity.HoleOutside: // the ring's own position
		case validity.OneDistinctPoint: // the only position
		default:
			unlike, faults = append(unlike, shapes[i]), append(faults, fault)
		}
	}
	for i, ways := range meetings(t, db, unlike, faults) {
		contained := faults[i].Rule == validity.PolygonsOverlap // a polygon within another one meets no ring
		expect.That(t, ways.Ways >= 4 || ways.Folded || contained, "%v at %v: nothing meets there (%+v): %v", faults[i], faults[i].At, ways, unlike[i])
	}
	t.Logf("%d places as PostGIS has them, %d others, which are correct too", same, len(unlike))
}

// ways is a row of the result of meeting.
type ways struct {
	Ways   int
	Folded bool
}

func meetings(t *testing.T, db *pgx.Conn, shapes []orb.Geometry, faults []*validity.Fault) []ways {
	t.Helper()
	var wkb [][]byte
	var x, y []float64
	for i, shape := range shapes {
		bytes := must.Get(geometry.Append(nil, geometry.WKB, geometry.Geometry{Shape: shape}))(t)
		wkb, x, y = append(wkb, bytes), append(x, faults[i].At[0]), append(y, faults[i].At[1])
	}
	rows := must.Get(db.Query(t.Context(), meetingWith+meeting, wkb, x, y, near))(t)
	out := must.Get(pgx.CollectRows(rows, pgx.RowToStructByName[ways]))(t)
	must.That(t, len(out) == len(shapes), "%d answers for %d places", len(out), len(shapes))
	return out
}

var seedFlag = flag.Uint64("postgis.seed", 0, "seed of the random geometries; 0: that of SWITCHBACK_TEST_SEED")

// shared is the server of all tests. The first test that needs it starts it.
var shared struct {
	sync.Once
	server *postgis.Server
	err    error
}

func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	if shared.server != nil {
		if err := shared.server.Close(); err != nil {
			fmt.Fprintln(os.Stderr, "integration/postgis:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// database returns a connection to a database of the test. It skips the test if PostGIS is unavailable and not demanded.
func database(t *testing.T) *pgx.Conn {
	t.Helper()
	shared.Do(func() {
		if shared.server, shared.err = postgis.Start(t.Context()); shared.err == nil {
			fmt.Println(shared.server)
		}
	})
	postgis.OrSkip(t, shared.err)
	db := must.Get(pgx.Connect(t.Context(), shared.server.Database(t)))(t)
	t.Cleanup(func() {
		err := db.Close(context.WithoutCancel(t.Context()))
		expect.That(t, err == nil || errors.Is(err, context.Canceled), "%v", err)
	})
	return db
}

// seed returns the seed of the flag, or of the test run.
func seed(t *testing.T) uint64 {
	t.Helper()
	if *seedFlag != 0 {
		return *seedFlag
	}
	return testrun.Seed(t)
}

// sized returns how many geometries a test draws: 200 in the gate, n in the tier nightly.
func sized(t *testing.T, n int) int {
	t.Helper()
	if testrun.IsNightly(t) || *countFlag > 0 {
		return n
	}
	return 200
}
