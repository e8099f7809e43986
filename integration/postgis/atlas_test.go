package postgis

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/paulmach/orb"
	"github.com/paulmach/orb/planar"

	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/internal/testkit/topojson"
	"github.com/switchback-geo/switchback/pkg/geometry/grid"
	"github.com/switchback-geo/switchback/pkg/geometry/repair"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// atlas is a published file of boundaries, in a package of npm that
// atlases/package-lock.json pins by its hash.
type atlas struct {
	file, object string
	plane        bool // whether its ordinates are no degrees
}

func atlases() []atlas {
	return []atlas{
		{"world-atlas/countries-110m.json", "countries", false},
		{"world-atlas/countries-50m.json", "countries", false},
		{"world-atlas/countries-10m.json", "countries", false},
		{"world-atlas/land-110m.json", "land", false},
		{"world-atlas/land-50m.json", "land", false},
		{"world-atlas/land-10m.json", "land", false},
		{"us-atlas/counties-10m.json", "counties", false},
		{"us-atlas/states-10m.json", "states", false},
		{"us-atlas/nation-10m.json", "nation", false},
		{"us-atlas/counties-albers-10m.json", "counties", true},
	}
}

// Published boundaries go through repair and cut at every precision: what comes out
// is valid to GEOS, and has the area of what came in.
func TestPostGIS_S0_8_S0_3_atlases(t *testing.T) {
	testrun.Nightly(t)
	folder := os.Getenv("ATLAS_DIR")
	if folder == "" {
		t.Skip("ATLAS_DIR is not set: this test reads published boundaries (npm ci in integration/postgis/atlases)")
	}
	db := oracle(t)
	for _, a := range atlases() {
		shapes := readTopology(t, filepath.Join(folder, a.file), a.object)
		for _, decimals := range []int{-1, 6, 5, 2} {
			t.Run(fmt.Sprint(strings.TrimSuffix(a.file, ".json"), "_at_", decimals), func(t *testing.T) {
				run := passage{t: t, db: db, atlas: a, decimals: decimals}
				run.pass(shapes)
			})
		}
	}
}

// passage is the way of an atlas through a mapping.
type passage struct {
	t        *testing.T
	db       *pgx.Conn
	atlas    atlas
	decimals int // -1: not rounded
	unmarked pairs
	marked   pairs
	cut      pairs
	empty    pairs  // refused, as nothing is left of them
	repaired []bool // of each that was cut: whether it has a flag
	flagged  map[string]int
}

// pairs are geometries before and after.
type pairs struct{ given, ours []orb.Geometry }

func (p *pairs) add(given, ours orb.Geometry) {
	p.given, p.ours = append(p.given, given), append(p.ours, ours)
}

func (p *passage) pass(shapes []orb.Geometry) {
	p.flagged = map[string]int{}
	tr := p.mapping()
	for _, shape := range shapes {
		record := must.Get(tr.Encode(&transform.Feature{Geometry: transform.Geometry{Shape: shape}}))(p.t)
		out, err := tr.Apply(p.t.Context(), record)
		if e, ok := errors.AsType[*transform.Error](err); ok && strings.Contains(e.Message, "nothing is left of it") {
			p.empty.add(shape, orb.MultiPolygon{})
			continue
		}
		if err != nil {
			p.t.Errorf("%v: %.200v", err, shape)
			continue
		}
		p.sort(shape, out)
	}
	p.valid(p.marked)
	p.valid(p.cut)
	for i, j := range p.valid(p.unmarked) {
		if want := planar.Area(p.unmarked.given[i]); math.Abs(j.Area-want) > 1e-9*want {
			p.t.Errorf("has an area of %v instead of %v: %.200v", j.Area, want, p.unmarked.given[i])
		}
	}
	p.areas()
	p.t.Logf("%d features: %d as they were, %d cut, %d refused; flags %v", len(shapes), len(p.unmarked.given), len(p.cut.given), len(p.empty.given), p.flagged)
}

// valid fails for what GEOS does not call valid.
func (p *passage) valid(kind pairs) []verdict {
	verdicts := ask(p.t, p.db, kind.ours)
	for i, j := range verdicts {
		if !j.Valid {
			p.t.Errorf("GEOS says %q of %.200v, which was %.200v", j.Reason, kind.ours[i], kind.given[i])
		}
	}
	return verdicts
}

func (p *passage) mapping() *transform.Transformer {
	limits := transform.Limits{MaxBytes: 64 << 20, MaxPositions: 1_000_000, MaxOutputBytes: 64 << 20, MaxOutputPositions: 1_000_000}
	config := transform.Config{Limits: limits, Geometry: transform.GeometryRules{Validity: transform.ValidityRepair, Antimeridian: transform.AntimeridianCut}}
	if p.atlas.plane {
		config.Geometry = transform.GeometryRules{Validity: transform.ValidityRepair, SourceCRS: plane, TargetCRS: plane}
	}
	if p.decimals >= 0 {
		config.Geometry.RoundDecimals = &p.decimals
	}
	return must.Get(transform.New(config))(p.t)
}

// sort keeps a geometry with others that are held against the same measure.
func (p *passage) sort(given orb.Geometry, out *transform.Feature) {
	ours := out.Geometry.Shape
	flag, _ := out.Property(transform.DefaultFlagProperty)
	for _, word := range []string{"repaired", "snapped", "collapsed", "nothing left"} {
		if strings.Contains(flag.Text(), word) {
			p.flagged[word]++
		}
	}
	switch {
	case !p.atlas.plane && repair.Crosses(given):
		p.cut.add(given, ours)
		p.repaired = append(p.repaired, flag.Text() != "")
	case flag.Text() == "":
		p.unmarked.add(p.rounded(given), ours)
	default:
		p.marked.add(given, ours)
	}
}

// rounded is a geometry with each ordinate rounded by itself.
func (p *passage) rounded(shape orb.Geometry) orb.Geometry {
	if p.decimals < 0 {
		return shape
	}
	g := grid.Of(p.decimals)
	shape = orb.Clone(shape)
	eachRing(shape, func(ring orb.Ring, _ bool) {
		for i, at := range ring {
			ring[i] = orb.Point{g.Round(at[0]), g.Round(at[1])}
		}
	})
	return shape
}

// eachRing visits the rings of polygons.
func eachRing(shape orb.Geometry, visit func(ring orb.Ring, hole bool)) {
	if polygon, single := shape.(orb.Polygon); single {
		shape = orb.MultiPolygon{polygon}
	}
	for _, polygon := range shape.(orb.MultiPolygon) {
		for i, ring := range polygon {
			visit(ring, i > 0)
		}
	}
}

// areas holds the areas of what was changed against those of the even-odd rule. What
// was repaired and not rounded has exactly the area of its rings; the rest was moved by
// the grid, and each place of it by less than two cells. What has no flag is valid
// with its rounded rings, and has their area.
func (p *passage) areas() {
	exact := func(j judgement) float64 { return 1e-9 * j.Area }
	p.within(p.empty, exact)
	if p.decimals < 0 {
		p.within(p.marked, exact)
	} else {
		cell := math.Pow10(-p.decimals)
		p.within(p.marked, func(j judgement) float64 { return 1.5 * cell * (j.Length + cell) })
	}
	if p.decimals < 0 {
		p.onSphere()
	}
}

// within holds geometries against the even-odd rule.
func (p *passage) within(kind pairs, most func(judgement) float64) {
	judgements := compared(p.t, p.db, "", "theirs", kind.given, kind.ours)
	for i, j := range judgements {
		if j.Difference > most(j) {
			p.t.Errorf("differs by %v of an area of %v: %.200v", j.Difference, j.Area, kind.given[i])
		}
	}
}

// onSphere holds what was cut against the area of its rings on the sphere: exteriors
// less holes. Of what had to be repaired that is near to the even-odd rule only.
func (p *passage) onSphere() {
	for i, given := range p.cut.given {
		less, all, got := 0.0, 0.0, 0.0
		eachRing(p.cut.ours[i], func(ring orb.Ring, _ bool) { got += strip(ring) })
		polygon := 0.0
		eachRing(given, func(ring orb.Ring, hole bool) {
			area := math.Abs(ringArea(ring))
			all += area
			if !hole { // of two rings around a pole either may be the exterior
				less, polygon, area = less+math.Abs(polygon), 0, -area
			}
			polygon += area
		})
		less += math.Abs(polygon)
		most := 1e-9 * all
		if p.repaired[i] { // rings that cross have another area by the even-odd rule than by their own
			most = 1e-6 * all
		}
		if got = math.Abs(got); math.Abs(got-less) > most {
			p.t.Errorf("has %v of the sphere, %v with all rings, and becomes %v: %.200v", less, all, got, given)
		}
	}
}

// ringArea is the area of a ring on a sphere of radius 1 whose edges are straight in
// longitude and latitude and go the short way; of one around a pole that up to it.
func ringArea(ring orb.Ring) float64 {
	unwrapped := make(orb.Ring, len(ring))
	turn := 0.0
	for i, at := range ring {
		if i > 0 && math.Abs(at[0]-ring[i-1][0]) > 180 {
			turn -= math.Copysign(360, at[0]-ring[i-1][0])
		}
		unwrapped[i] = orb.Point{at[0] + turn, at[1]}
	}
	area := strip(unwrapped)
	if turn != 0 { // up to the nearer pole
		return 2*math.Pi - math.Abs(area)
	}
	return area
}

// strip is the area between a way and the equator.
func strip(way orb.Ring) float64 {
	rad, area := math.Pi/180, 0.0
	for i := 1; i < len(way); i++ {
		width, from, to := (way[i][0]-way[i-1][0])*rad, way[i-1][1]*rad, way[i][1]*rad
		if math.Abs(to-from) < 1e-4 {
			area += width * (math.Sin(from) + 4*math.Sin((from+to)/2) + math.Sin(to)) / 6
		} else {
			area += width * (math.Cos(from) - math.Cos(to)) / (to - from)
		}
	}
	return area
}

// readTopology returns the polygons of an object of a TopoJSON file, decoded as
// topojson-client does: rings of fewer than four positions are filled up with their
// first one.
func readTopology(t *testing.T, file, object string) []orb.Geometry {
	t.Helper()
	topology := topojson.Parse(t, must.Get(os.ReadFile(file))(t))
	var out []orb.Geometry
	for _, s := range topology.Shapes(t, object) {
		var shape orb.MultiPolygon
		for _, rings := range s.Polygons {
			shape = append(shape, stitched(topology, rings))
		}
		if s.Multi {
			out = append(out, shape)
		} else {
			out = append(out, shape[0])
		}
	}
	return out
}

// stitched makes a polygon of the numbers of its arcs.
func stitched(topology *topojson.Topology, rings [][]int) orb.Polygon {
	var out orb.Polygon
	for _, numbers := range rings {
		var ring orb.Ring
		for _, n := range numbers {
			line := topology.Line(n)
			if len(ring) > 0 {
				line = line[1:]
			}
			ring = append(ring, line...)
		}
		for len(ring) < 4 {
			ring = append(ring, ring[0])
		}
		out = append(out, ring)
	}
	return out
}
