package postgis

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/paulmach/orb"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/rings"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/transform"
	"github.com/switchback-geo/switchback/pkg/validity"
)

// randomPolygons draws n geometries. A geometry with one polygon is a Polygon.
func randomPolygons(random rings.Random, n int) []orb.Geometry {
	shapes := make([]orb.Geometry, n)
	for i := range shapes {
		polygons := random.Polygons()
		if shapes[i] = polygons; len(polygons) == 1 {
			shapes[i] = polygons[0]
		}
	}
	return shapes
}

// deeper returns the rules that are only checked if no rings cross, and PostGIS's reasons for them. A geometry that
// breaks several of these rules may be reported for any of them.
func deeper() (rules []validity.Rule, reasons []string) {
	return []validity.Rule{validity.NestedRings, validity.HoleOutside, validity.InteriorDisconnected},
		[]string{"Holes are nested", "Hole lies outside shell", "Interior is disconnected", "Nested shells"}
}

// All verdicts agree, and so do the rules for geometries that can break only one.
func TestPostGIS_S0_8_polygons_at_random(t *testing.T) {
	testrun.Proof(t)
	db := database(t)
	shapes := randomPolygons(rings.NewRandom(seed(t)), 10_000)
	counts := map[string]int{}
	rules, reasons := deeper()
	for i, theirs := range ask(t, db, shapes) {
		fault := validityFault(t, shapes[i])
		if (fault == nil) != theirs.Valid {
			t.Errorf("%v, but PostGIS returns %q: %v", fault, theirs.Reason, shapes[i])
			continue
		}
		if fault == nil {
			counts["both: valid"]++
			continue
		}
		counts[fmt.Sprintf("%s, PostGIS: %s", fault.Rule, theirs.Reason)]++
		expect.That(t, !slices.Contains(rules, fault.Rule) || slices.Contains(reasons, theirs.Reason), "%v, but PostGIS finds a more serious fault, %q: %v", fault, theirs.Reason, shapes[i])
		if polygon, single := shapes[i].(orb.Polygon); single && len(polygon) == 1 &&
			fault.Rule != validity.RingNotSimple && fault.Rule != validity.OneDistinctPoint {
			t.Errorf("%v of a polygon of one ring: %v", fault, shapes[i])
		}
	}
	logCounts(t, counts)
}

func logCounts(t *testing.T, counts map[string]int) {
	t.Helper()
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%6d  %s", counts[what], what)
	}
}

func TestPostGIS_S0_8_lines_at_random(t *testing.T) {
	testrun.Proof(t)
	db := database(t)
	random := rings.NewRandom(seed(t))
	shapes := make([]orb.Geometry, 5_000)
	for i := range shapes {
		shapes[i] = random.Line()
	}
	counts := map[string]int{}
	for i, theirs := range ask(t, db, shapes) {
		valid, simple := validityFault(t, shapes[i]), isSimple(t, shapes[i])
		expect.That(t, (valid == nil) == theirs.Valid && (simple == nil) == theirs.Simple, "%v, %v, but PostGIS returns valid %v, simple %v: %v", valid, simple, theirs.Valid, theirs.Simple, shapes[i])
		counts[fmt.Sprintf("both: valid %v, simple %v", theirs.Valid, theirs.Simple)]++
	}
	logCounts(t, counts)
}

// These shapes are hard for methods that compare boxes, and easy to get wrong in a sweep: many edges at one longitude,
// long parallel edges.
func TestPostGIS_S0_8_hostile_shapes(t *testing.T) {
	testrun.Nightly(t)
	db := database(t)
	var shapes []orb.Geometry
	for _, shape := range rings.Shapes() {
		ring := shape.Ring(1_000)
		broken := ring.Clone()
		broken[len(ring)/3], broken[len(ring)/3+1] = broken[len(ring)/3+1], broken[len(ring)/3]
		shapes = append(shapes, orb.Polygon{ring}, orb.Polygon{broken})
	}
	for i, theirs := range ask(t, db, shapes) {
		fault := validityFault(t, shapes[i])
		expect.That(t, (fault == nil) == theirs.Valid, "shape %s, broken %v: %v, but PostGIS returns %q", rings.Shapes()[i/2].Name, i%2 == 1, fault, theirs.Reason)
	}
}

// plane is a coordinate system that contains every drawn position.
const plane = "EPSG:3857"

// apply runs records through the gates and the mapping. It returns the accepted geometries before and after.
func apply(t *testing.T, rules transform.GeometryRules, shapes []orb.Geometry) (before, after []orb.Geometry) {
	t.Helper()
	rules.SourceCRS, rules.TargetCRS = plane, plane
	transformer := must.Get(transform.New(transform.Config{Geometry: rules}))(t)
	for _, shape := range shapes {
		record := must.Get(transformer.Encode(&transform.Feature{Geometry: transform.Geometry{Shape: shape}}))(t)
		if out, err := transformer.Apply(t.Context(), record); err == nil {
			before, after = append(before, shape), append(after, out.Geometry.Shape)
		}
	}
	return before, after
}

// Accepted geometries have rings wound as RFC 7946 requires, and are otherwise unchanged.
func TestPostGIS_S0_8_rings_are_wound(t *testing.T) {
	testrun.Proof(t)
	db := database(t)
	before, after := apply(t, transform.GeometryRules{}, randomPolygons(rings.NewRandom(seed(t)), 2_000))
	was, is := ask(t, db, before), ask(t, db, after)
	turned := 0
	for i := range is {
		expect.That(t, is[i].CCW && is[i].Valid && sameArea(is[i].Area, was[i].Area), "%v became %v: wound right %v, valid %v, area %v before and %v after", before[i], after[i], is[i].CCW, is[i].Valid, was[i].Area, is[i].Area)
		if !was[i].CCW {
			turned++
		}
	}
	t.Logf("%d passed, of which %d were wound otherwise before", len(is), turned)
	expect.That(t, turned >= len(is)/4 && len(is) >= 200, "that proves nothing")
}

// Geometries that the gates repair are valid. A ring that meets itself becomes the result of ST_MakeValid.
func TestPostGIS_S0_8_repairs(t *testing.T) {
	testrun.Proof(t)
	db := database(t)
	before, after := apply(t, transform.GeometryRules{Validity: transform.ValidityRepair}, randomPolygons(rings.NewRandom(seed(t)), 2_000))
	was, is := ask(t, db, before), ask(t, db, after)
	repaired, compared := 0, 0
	for i := range is {
		expect.That(t, is[i].Valid && is[i].CCW, "%v became %v, which PostGIS calls %q; wound right %v", before[i], after[i], is[i].Reason, is[i].CCW)
		if was[i].Valid {
			continue
		}
		repaired++
		if polygon, single := before[i].(orb.Polygon); single && len(polygon) == 1 {
			compared++
			made := madeValid(t, db, before[i])
			expect.That(t, sameArea(made, is[i].Area), "%v has the area %v after the repair, and %v after ST_MakeValid", before[i], is[i].Area, made)
		}
	}
	t.Logf("%d repaired, %d compared with ST_MakeValid", repaired, compared)
	expect.That(t, compared >= 20, "that proves nothing")
}

// sameArea tolerates rounding, which depends on where a sum begins.
func sameArea(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Max(1, math.Abs(a)) }

// sample is one geometry of the conformance data and the verdict of our gates.
type sample struct {
	file          string
	shape         orb.Geometry
	valid, simple bool
}

// differences are the kinds of geometries whose verdicts differ from PostGIS's, with reasons. Any other difference fails
// the test.
func differences() []struct {
	reason string
	fits   func(s sample, theirs verdict) bool
} {
	return []struct {
		reason string
		fits   func(s sample, theirs verdict) bool
	}{
		{"simple: lines of one MultiLineString, or of a collection, may meet: networks do", func(s sample, theirs verdict) bool {
			_, several := s.shape.(orb.MultiLineString)
			_, collection := s.shape.(orb.Collection)
			return (several || collection) && s.simple && !theirs.Simple && s.valid == theirs.Valid
		}},
		{"simple: rings of a polygon are judged by validity, which refuses this one", func(s sample, theirs verdict) bool {
			return hasPolygons(s.shape) && s.simple && !theirs.Simple && !s.valid && !theirs.Valid
		}},
	}
}

func hasPolygons(shape orb.Geometry) bool {
	switch shape := shape.(type) {
	case orb.Polygon, orb.MultiPolygon:
		return true
	case orb.Collection:
		return slices.ContainsFunc(shape, hasPolygons)
	}
	return false
}

// Every geometry of the conformance data with the structure of RFC 7946 gets PostGIS's verdict, except for the listed
// kinds.
func TestPostGIS_S0_8_conformance_data(t *testing.T) {
	testrun.Nightly(t)
	root := os.Getenv("CORPORA_DIR")
	if root == "" {
		t.Skip("CORPORA_DIR is not set: this test reads published conformance data")
	}
	db := database(t)
	total := 0
	for _, corpus := range []string{"geojson-schema", "geojsonhint", "geojson-rewind", "rfc7946-examples", "turf"} {
		samples := samplesOf(t, filepath.Join(root, corpus))
		shapes := make([]orb.Geometry, len(samples))
		for i := range samples {
			shapes[i] = samples[i].shape
		}
		counts := map[string]int{}
		for i, theirs := range ask(t, db, shapes) {
			counts[judge(t, samples[i], theirs)]++
		}
		t.Logf("%s: %d geometries", corpus, len(samples))
		logCounts(t, counts)
		total += len(samples)
	}
	expect.That(t, total >= 200, "only %d geometries: is CORPORA_DIR correct?", total)
}

func judge(t *testing.T, s sample, theirs verdict) string {
	t.Helper()
	if s.valid == theirs.Valid && s.simple == theirs.Simple {
		switch {
		case !s.valid:
			return "both: not valid"
		case !s.simple:
			return "both: not simple"
		}
		return "both: valid and simple"
	}
	for _, known := range differences() {
		if known.fits(s, theirs) {
			return "otherwise: " + known.reason
		}
	}
	t.Errorf("%s: valid %v, simple %v, but PostGIS returns valid %v (%s), simple %v: %v",
		s.file, s.valid, s.simple, theirs.Valid, theirs.Reason, theirs.Simple, s.shape)
	return "unexplained"
}

// samplesOf reads every GeoJSON text below a folder.
func samplesOf(t *testing.T, folder string) []sample {
	t.Helper()
	rules := transform.GeometryRules{SourceCRS: plane, EmptyGeometry: transform.Accept, Simplicity: transform.Reject}
	gates := func(rules transform.GeometryRules) *transform.Transformer {
		transformer := must.Get(transform.New(transform.Config{Geometry: rules}))(t)
		return transformer
	}
	simple := gates(rules)
	rules.Simplicity = transform.Accept
	valid := gates(rules)
	var samples []sample
	err := filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(name, "json") {
			return err
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		for _, record := range recordsOf(text) {
			f, err := valid.Decode(record)
			if err != nil || f.Geometry.IsNull() {
				continue // refused for its structure, which PostGIS does not check
			}
			f = &transform.Feature{Geometry: f.Geometry} // judged in the plane of its coordinates, whatever their system
			samples = append(samples, sample{
				file: name, shape: f.Geometry.Shape,
				valid:  passes(t, valid, f, classify.CodeGeometryInvalid),
				simple: passes(t, simple, f, classify.CodeGeometryNotSimple),
			})
		}
		return nil
	})
	must.Do(t, err)
	return samples
}

// passes reports whether a gate accepts a feature. The gate may refuse it with one code only. Validity is checked after
// simplicity.
func passes(t *testing.T, gates *transform.Transformer, f *transform.Feature, code classify.Code) bool {
	t.Helper()
	_, err := gates.Gate(t.Context(), f)
	if err == nil {
		return true
	}
	var e *transform.Error
	must.That(t, errors.As(err, &e) && (e.Code == code || e.Code == classify.CodeGeometryInvalid), "%v", err)
	return e.Code != code
}

// recordsOf returns the features of a text. A bare geometry is wrapped in a feature.
func recordsOf(text []byte) [][]byte {
	var object struct {
		Type     string            `json:"type"`
		Features []json.RawMessage `json:"features"`
	}
	if json.Unmarshal(text, &object) != nil {
		return nil
	}
	switch object.Type {
	case "Feature":
		return [][]byte{text}
	case "FeatureCollection":
		records := make([][]byte, len(object.Features))
		for i, feature := range object.Features {
			records[i] = feature
		}
		return records
	}
	return [][]byte{bytes.Join([][]byte{[]byte(`{"type":"Feature","properties":null,"geometry":`), text, []byte(`}`)}, nil)}
}
