package transform

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/planar"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/crs"
	"github.com/switchback-geo/switchback/pkg/geometry/repair"
	"github.com/switchback-geo/switchback/pkg/transform/internal/world"
	"github.com/switchback-geo/switchback/pkg/validity"
)

// RFC 7946 section 3.1.9: a geometry that a projection leads over the 180th meridian or around a pole is cut, flagged or
// refused.
func TestProjected_S0_8_theMeridianIsThatOfTheTarget(t *testing.T) {
	six := 6
	fiji := `{"type":"Polygon","coordinates":[[[819689,8140048],[819889,8140048],[819889,8140248],[819689,8140248],[819689,8140048]]]}`
	touches := `{"type":"Polygon","coordinates":[[[818722.240809603,8140164.498103711],[819789.017461159,8140148.365818618],[820615.67756775,8195522.446710167],[819546.133936723,8195538.152733647],[818722.240809603,8140164.498103711]]]}`
	pole := `{"type":"Polygon","coordinates":[[[995004,99833],[212526,977155],[-863656,504082],[-746295,-665616],[402420,-915455],[995004,99833]]]}`
	line := `{"type":"LineString","coordinates":[[819689,8140048,1],[819889,8140048,3]]}`
	hole := `{"type":"Polygon","coordinates":[[[3000000,-1000000],[4000000,-1000000],[4000000,1000000],[3000000,1000000],[3000000,-1000000]],[[3200000,-500000],[3200000,500000],[3600000,500000],[3600000,-500000],[3200000,-500000]]]}`
	elevenths := `{"type":"Polygon","coordinates":[[[995004,99833],[783077,621925],[322528,946560],[-240421,970669],[-727038,686597],[-982826,184536],[-926573,-376115],[-576140,-817351],[-42787,-999084],[504151,-863615],[891025,-453955],[995004,99833]]]}`
	aleutians := `{"type":"Polygon","coordinates":[[[-1774898,511600],[-1764898,510600],[-1764398,516600],[-1764898,521600],[-1774898,521600],[-1774898,511600]]]}`
	zealand := `{"type":"Polygon","coordinates":[[[2112321.624,5554965.36],[2197776.667,5548706.563],[2202139.621,5604274.437],[2116054.977,5610513.544],[2112321.624,5554965.36]]]}`
	plain := `{"type":"Polygon","coordinates":[[[3000000,-1000000],[4000000,-1000000],[4000000,1000000],[3000000,1000000],[3000000,-1000000]]]}`
	parcel := `{"type":"Polygon","coordinates":[[[819689,8140048],[819889,8140048],[819899,8140148],[819889,8140248],[819689,8140248],[819689,8140048]]]}`
	wide := `{"type":"Polygon","coordinates":[[[-18900000,0],[18900000,0],[18900000,100000],[-18900000,100000],[-18900000,0]]]}`
	for _, c := range []struct {
		name, source, geometry string
		policy                 Antimeridian
		code                   classify.Code
		want, flag             string // want is a part of the written text
	}{
		{"fiji_cut", "EPSG:32760", fiji, AntimeridianCut, "", `"MultiPolygon","coordinates":[[[[-180,`, ""},
		{"fiji_ignored", "EPSG:32760", fiji, AntimeridianIgnore, classify.CodeAntimeridian, "", ""},
		{"fiji_refused", "EPSG:32760", fiji, AntimeridianReject, classify.CodeAntimeridian, "", ""},
		{"fiji_flagged", "EPSG:32760", fiji, AntimeridianFlag, "", `"Polygon"`, "antimeridian (/geometry)"},
		{"line_cut_with_heights", "EPSG:32760", line, AntimeridianCut, "", `"MultiLineString"`, ""},
		{"touches_ignored", "EPSG:32760", touches, AntimeridianIgnore, "", `[[[179.99,-16.8],[180,-16.8],[180,-16.3],[179.99,-16.3],[179.99,-16.8]]]`, ""},
		{"touches_cut", "EPSG:32760", touches, AntimeridianCut, "", `[[[179.99,-16.8],[180,-16.8],[180,-16.3],[179.99,-16.3],[179.99,-16.8]]]`, ""},
		{"pole_cut", "EPSG:3031", pole, AntimeridianCut, "", `[-180,-90],[180,-90],[180,-80.815265]`, ""},
		{"pole_ignored", "EPSG:3031", pole, AntimeridianIgnore, classify.CodeAntimeridian, "", ""},
		{"five_corners_cut", "EPSG:32760", parcel, AntimeridianCut, "", `"MultiPolygon"`, ""},
		{"plain_cut", "EPSG:3832", plain, AntimeridianCut, "", `"MultiPolygon"`, ""},
		{"plain_ignored", "EPSG:3832", plain, AntimeridianIgnore, classify.CodeAntimeridian, "", ""},
		{"hole_cut", "EPSG:3832", hole, AntimeridianCut, "", `"MultiPolygon"`, ""},
		{"hole_ignored", "EPSG:3832", hole, AntimeridianIgnore, classify.CodeAntimeridian, "", ""},
		{"pole_of_eleven_corners_cut", "EPSG:3031", elevenths, AntimeridianCut, "", `[-180,-90],[180,-90]`, ""},
		{"pole_of_eleven_corners_ignored", "EPSG:3031", elevenths, AntimeridianIgnore, classify.CodeAntimeridian, "", ""},
		{"aleutians_ignored", "EPSG:3338", aleutians, AntimeridianIgnore, classify.CodeAntimeridian, "", ""},
		{"aleutians_cut", "EPSG:3338", aleutians, AntimeridianCut, "", `"MultiPolygon"`, ""},
		{"touches_in_metres", "EPSG:2193", zealand, AntimeridianIgnore, "", `[[[179,-40],[180,-40],[180,-39.5],[179,-39.5],[179,-40]]]`, ""},
		{"around_the_world_without_crossing", "EPSG:3857", wide, AntimeridianIgnore, "", `[[[-169.781589,0],[169.781589,0],[169.781589,0.898278],[-169.781589,0.898278],[-169.781589,0]]]`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			rules := GeometryRules{SourceCRS: c.source, Antimeridian: c.policy, RoundDecimals: &six}
			got, flag, err := applied(t, Config{Geometry: rules}, feature(c.geometry))
			if c.code != "" {
				e := asError(t, err)
				expect.That(t, e.Code == c.code && e.Fix != "", "got %s: %v", e.Code, e)
				return
			}
			expect.That(t, err == nil && strings.Contains(got, c.want) && strings.Contains(flag, c.flag), "got  %s, %q, %v\nwant %s, %q", got, flag, err, c.want, c.flag)
		})
	}
	t.Run("bbox_without_a_geometry", func(t *testing.T) {
		record := `{"type":"Feature","bbox":[819689,8140048,819889,8140248],"geometry":null,"properties":null}`
		tr := mustNew(t, Config{Geometry: GeometryRules{SourceCRS: "EPSG:32760", RoundDecimals: &six}})
		out, err := applyTo(t, tr, mustDecode(t, tr, record))
		expect.That(t, err == nil && out.BBox[0] >= 179 && out.BBox[2] <= -179, "got %v, %v", out, err)
	})
	t.Run("declared", func(t *testing.T) {
		rules := GeometryRules{DeclaredCRS: DeclaredUse, Antimeridian: AntimeridianCut}
		record := `{"type":"Feature","crs":{"type":"name","properties":{"name":"EPSG:3832"}},"geometry":` + plain + `,"properties":null}`
		got, _, err := applied(t, Config{Geometry: rules}, record)
		expect.That(t, err == nil && strings.Contains(got, `"MultiPolygon"`), "got %s, %v", got, err)
	})
}

// A polygon near the 180th meridian is cut in the same way whether it is sent in metres or in degrees.
func TestProjected_S0_8_isTheSameAsInDegrees(t *testing.T) {
	random := rand.New(rand.NewPCG(testrun.Seed(t), 0))
	systems := map[string]float64{"EPSG:32760": -17, "EPSG:32701": -17, "EPSG:3832": 5, "EPSG:3031": -75, "EPSG:3413": 80, "EPSG:2193": -40}
	crossed := 0
	for name, lat := range systems {
		source := must.Get(crs.Lookup(name))(t)
		target, _ := crs.Lookup("EPSG:4326")
		toMetres := must.Get((*crs.Grids)(nil).NewTransform(target.WithAxisOrder(crs.AxisXY), source.WithAxisOrder(crs.AxisXY), crs.OutsideRefuse))(t)
		tr := mustNew(t, Config{Geometry: GeometryRules{SourceCRS: name, Antimeridian: AntimeridianCut}})
		for range 200 {
			degrees, metres := starAround(random, lat), orb.Ring{}
			for _, p := range degrees {
				x, y, err := toMetres.Forward(p[0], p[1])
				must.Do(t, err)
				metres = append(metres, orb.Point{x, y})
			}
			f := &Feature{Geometry: Geometry{Shape: orb.Polygon{metres}}}
			out := must.Get(applyTo(t, tr, f))(t)
			fault, err := validity.Valid(t.Context(), out.Geometry.Shape)
			must.That(t, fault == nil && err == nil, "%s %v is written as %v: %v %v", name, degrees, out.Geometry.Shape, fault, err)
			if repair.Crosses(orb.Polygon{degrees}) {
				crossed++
			}
			want := must.Get(repair.Cut(t.Context(), orb.Polygon{degrees}, nil, tr.repairLimits()))(t)
			a, b := planar.Area(out.Geometry.Shape), planar.Area(want.Shape)
			must.That(t, math.Abs(a-b) <= 1e-6*b, "%s %v has an area of %v and is written with %v: %v", name, degrees, b, a, out.Geometry.Shape)
		}
	}
	expect.That(t, crossed >= 300, "only %d polygons cross the meridian", crossed)
}

// A geometry in metres that the gates repair, and whose type they convert, is projected as repaired and converted.
func TestProjected_S0_8_aRepairIsProjected(t *testing.T) {
	sent := feature(`{"type":"Polygon","coordinates":[[[500000,5300000],[500100,5300100],[500100,5300000],[500000,5300100],[500000,5300000]]]}`)
	rules := GeometryRules{SourceCRS: "EPSG:25832", TargetCRS: "EPSG:25832", Validity: ValidityRepair}
	repaired, flag, err := applied(t, Config{Geometry: rules}, sent)
	must.That(t, err == nil && strings.HasPrefix(flag, "repaired ring_not_simple"), "got %s, %q, %v", repaired, flag, err)
	rules.TargetCRS = "EPSG:4326"
	want, _, err := applied(t, Config{Geometry: rules}, feature(repaired))
	must.That(t, err == nil && strings.Contains(want, "MultiPolygon"), "got %s, %v", want, err)
	got, _, err := applied(t, Config{Geometry: rules}, sent)
	expect.That(t, err == nil && got == want, "got  %s, %v\nwant %s", got, err, want)

	rules.Types, rules.OtherTypes = []GeometryType{MultiPolygon}, ValidityRepair
	got, _, err = applied(t, Config{Geometry: rules}, feature(`{"type":"Polygon","coordinates":[[[500000,5300000],[500100,5300000],[500100,5300000],[500100,5300100],[500000,5300000]]]}`))
	expect.That(t, err == nil && strings.HasPrefix(got, `{"type":"MultiPolygon","coordinates":[[[[9,`), "got %s, %v", got, err)
}

// starAround returns a ring of some tenths of a degree near the 180th meridian, with longitudes within ±180.
func starAround(random *rand.Rand, lat float64) orb.Ring {
	middle := orb.Point{179.5 + random.Float64(), lat + random.Float64()}
	n := 3 + random.IntN(9)
	ring := make(orb.Ring, 0, n+1)
	for i := range n {
		r, angle := 0.05+0.3*random.Float64(), 2*math.Pi*float64(i)/float64(n)
		ring = append(ring, orb.Point{world.Wrapped(middle[0] + r*math.Cos(angle)), middle[1] + r*math.Sin(angle)})
	}
	return append(ring, ring[0])
}

// S0-8: if no valid geometry is left on the grid, the valid one is written without rounding, with the reason.
func TestSnap_S0_8_whatCannotBeRoundedStays(t *testing.T) {
	six := 6
	in := `{"type":"Polygon","coordinates":[[[10.340881954212657,53.31413560215223],[10.340880838572394,53.31413573296774],[10.340880013655442,53.31413643098519],[10.340880842284156,53.314136557701296],[10.340874745722399,53.314136205831446],[10.340881954212657,53.31413560215223]]]}`
	for _, policy := range []Validity{ValidityRepair, ValidityFlag, ValidityReject} {
		tr := mustNew(t, Config{Geometry: GeometryRules{Validity: policy, RoundDecimals: &six}})
		out, err := applyTo(t, tr, mustDecode(t, tr, feature(in)))
		if policy == ValidityReject {
			expect.Equal(t, asError(t, err).Code, classify.CodeGeometryInvalid, "code")
			continue
		}
		must.That(t, err == nil, "%s: %v", policy, err)
		fault, err := validity.Valid(t.Context(), out.Geometry.Shape)
		expect.That(t, fault == nil && err == nil, "%s: %v is written, which is not valid: %v %v", policy, out.Geometry.Shape, fault, err)
		text := mustEncode(t, tr, out)
		expect.That(t, strings.Contains(text, "not rounded"), "%s: the flag property does not say why: %s", policy, text)
	}
}

// applyTo runs a feature through the gates and the mapping.
func applyTo(tb testing.TB, tr *Transformer, f *Feature) (*Feature, error) {
	tb.Helper()
	gates, err := tr.Gate(tb.Context(), f)
	if err != nil {
		return nil, err
	}
	return tr.Map(tb.Context(), f, gates)
}

// An edge through a pole goes up to the pole and down on the other side, not along a parallel.
func TestProjected_S0_8_anEdgeThroughAPole(t *testing.T) {
	for _, c := range []struct{ name, shape, want string }{
		{"line", `{"type":"LineString","coordinates":[[-1000000,0],[1000000,0]]}`, `{"type":"LineString","coordinates":[[-90,-80.8],[-90,-90],[0,-90],[90,-90],[90,-80.8]]}`},
		{"line, uneven", `{"type":"LineString","coordinates":[[-1000000,0],[300000,0]]}`,
			`{"type":"LineString","coordinates":[[-90,-80.8],[-90,-90],[0,-90],[90,-90],[90,-87.2]]}`},
		{"a vertex there", `{"type":"LineString","coordinates":[[-1000000,0],[0,0],[1000000,0]]}`,
			`{"type":"LineString","coordinates":[[-90,-80.8],[-90,-90],[0,-90],[90,-90],[90,-80.8]]}`},
		{"it begins there", `{"type":"LineString","coordinates":[[0,0],[1000000,0]]}`, `{"type":"LineString","coordinates":[[90,-90],[90,-80.8]]}`},
		{"it ends there", `{"type":"LineString","coordinates":[[-1000000,0],[0,0]]}`, `{"type":"LineString","coordinates":[[-90,-80.8],[-90,-90]]}`},
		{"a ring begins there", `{"type":"Polygon","coordinates":[[[0,0],[1000000,0],[1000000,1000000],[0,0]]]}`,
			`{"type":"Polygon","coordinates":[[[90,-90],[90,-80.8],[45,-77],[45,-90],[90,-90]]]}`},
		{"a ring goes there", `{"type":"Polygon","coordinates":[[[1000000,0],[1000000,1000000],[0,0],[1000000,0]]]}`,
			`{"type":"Polygon","coordinates":[[[90,-80.8],[45,-77],[45,-90],[90,-90],[90,-80.8]]]}`},
		{"polygon", `{"type":"Polygon","coordinates":[[[-1000000,0],[1000000,0],[0,1000000],[-1000000,0]]]}`,
			`{"type":"Polygon","coordinates":[[[-90,-80.8],[-90,-90],[0,-90],[90,-90],[90,-80.8],[0,-80.8],[-90,-80.8]]]}`},
		{"the other side", `{"type":"Polygon","coordinates":[[[-1000000,0],[0,-1000000],[1000000,0],[-1000000,0]]]}`, ""},
	} {
		one := 1
		rules := GeometryRules{SourceCRS: "EPSG:3031", Antimeridian: AntimeridianCut, RoundDecimals: &one}
		got, _, err := applied(t, Config{Geometry: rules}, feature(c.shape))
		expect.That(t, err == nil && (c.want == "" || got == c.want), "%s: %s, %v, want %s", c.name, got, err, c.want)
	}
}

// testGrids has small files with the names of published ones; see pkg/crs/testdata.
const testGrids = "../crs/testdata/grids"

func openGrids(t *testing.T, folder string) *crs.Grids {
	t.Helper()
	return must.Get(crs.OpenGrids(folder))(t)
}

func TestGrids_S1_4(t *testing.T) {
	const inside, outside = `{"type":"Feature","geometry":{"type":"Point","coordinates":[3500000,5600000]},"properties":{}}`,
		`{"type":"Feature","geometry":{"type":"LineString","coordinates":[[3500000,5600000],[3100000,5400000]]},"properties":{}}`
	rules := GeometryRules{SourceCRS: "EPSG:31467", TargetCRS: "EPSG:4258", Grids: GridRules{Folder: "there"}}
	apply := func(rules GeometryRules, in string) (string, error) {
		six := 6
		var folder *crs.Grids
		if rules.Grids.Folder != "" {
			folder = openGrids(t, testGrids)
		}
		tr := mustNew(t, Config{Geometry: roundedTo(rules, &six), Grids: folder})
		f, err := tr.Apply(t.Context(), []byte(in))
		if err != nil {
			return "", err
		}
		return mustEncode(t, tr, f), nil
	}
	withGrid := must.Get(apply(rules, inside))(t)
	plain, err := apply(GeometryRules{SourceCRS: "EPSG:31467", TargetCRS: "EPSG:4258"}, inside)
	expect.That(t, err == nil && plain != withGrid, "the grid changes nothing: %s, %v", plain, err)
	_, err = apply(rules, outside)
	if e := asError(t, err); e.Code != classify.CodeCoordinateRange || e.Path != "/geometry/coordinates/1" || !strings.Contains(e.Message, "no grid file covers it") ||
		!strings.Contains(e.Fix, "geometry.grids.outside: parameters") {
		t.Errorf("outside: %+v", e)
	}
	rules.Grids.Outside = crs.OutsideParameters
	_, err = apply(rules, outside)
	expect.That(t, err == nil, "outside, by parameters: %v", err)
}

// A record may name a system without a grid file.
func TestGrids_S1_4_of_the_records_own_system(t *testing.T) {
	const dutch = `{"type":"Feature","crs":{"type":"name","properties":{"name":"EPSG:28992"}},"geometry":{"type":"Point","coordinates":[155000,463000]},"properties":{}}`
	for outside, code := range map[crs.Outside]classify.Code{crs.OutsideRefuse: classify.CodeUnknownCRS, crs.OutsideParameters: ""} {
		tr := mustNew(t, Config{Grids: openGrids(t, testGrids), Geometry: GeometryRules{
			SourceCRS: "EPSG:31467", DeclaredCRS: DeclaredUse, Grids: GridRules{Folder: "there", Outside: outside},
		}})
		_, err := tr.Apply(t.Context(), []byte(dutch))
		if code == "" {
			expect.That(t, err == nil, "%s: %v", outside, err)
			continue
		}
		e := asError(t, err)
		expect.That(t, e.Code == code && strings.Contains(e.Message, "rdtrans2018.gsb") && strings.Contains(e.Fix, "geometry.grids.folder"), "%s: %+v", outside, e)
	}
}

// Check finds the faults that need no file, and New finds the others.
func TestGrids_config(t *testing.T) {
	folder := GridRules{Folder: "there"}
	for name, c := range map[string]struct {
		rules GeometryRules
		path  string
		has   string
	}{
		"outside_without_a_folder": {GeometryRules{Grids: GridRules{Outside: crs.OutsideParameters}}, "geometry.grids.outside", "no grid files"},
		"unknown_word":             {GeometryRules{SourceCRS: "EPSG:31467", Grids: GridRules{Folder: "x", Outside: "guess"}}, "geometry.grids.outside", `"guess" is not known`},
		"no_effect":                {GeometryRules{SourceCRS: "EPSG:25832", Grids: folder}, "geometry.grids.folder", "no grid is known between EPSG:25832 and EPSG:4326"},
	} {
		faults := new(ConfigError)
		err := Check(Config{Geometry: c.rules})
		expect.That(t, errors.As(err, &faults) && faults.Faults[0].Path == c.path && strings.Contains(err.Error(), c.has), "%v: got %v, want %s: %s", name, err, c.path, c.has)
	}
	rules := GeometryRules{SourceCRS: "EPSG:31467", Grids: folder}
	expect.Do(t, Check(Config{Geometry: rules}), "Check")
	_, err := New(Config{Geometry: rules})
	expect.That(t, err != nil && strings.Contains(err.Error(), "were not read"), "without the files: %v", err)
	_, err = New(Config{Geometry: rules, Grids: openGrids(t, t.TempDir())})
	expect.That(t, err != nil && strings.Contains(err.Error(), "add BETA2007.gsb or"), "an empty folder: %v", err)
	rules.Grids.Outside = crs.OutsideParameters
	_, err = New(Config{Geometry: rules, Grids: openGrids(t, t.TempDir())})
	expect.That(t, err != nil && strings.Contains(err.Error(), "add BETA2007.gsb or"), "an empty folder, by parameters: %v", err)
}

func TestCheckGrids_says_how_exact_the_output_is(t *testing.T) {
	grids := openGrids(t, testGrids)
	x, err := CheckGrids(GeometryRules{SourceCRS: "EPSG:31467", TargetCRS: "EPSG:25832", Grids: GridRules{Folder: "there", Outside: crs.OutsideParameters}}, grids)
	expect.That(t, err == nil && x.Source.Code() == "EPSG:31467" && x.Target.Code() == "EPSG:25832" && x.UsesGrid && x.Plane.Metres == 0.9 && x.Outside.Metres == 3, "%+v, %v", x, err)
	if x, err = CheckGrids(GeometryRules{SourceCRS: "EPSG:31467"}, nil); err != nil || x.UsesGrid || x.Outside != nil || x.Plane.Metres != 3 {
		t.Errorf("without a grid: %+v, %v", x, err)
	}
	if x, err = CheckGrids(GeometryRules{}, nil); err != nil || x.Plane != nil {
		t.Errorf("the same system: %+v, %v", x, err)
	}
}
