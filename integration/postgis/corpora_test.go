package postgis

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/paulmach/orb"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// sample is one geometry of the conformance data and what our gates say of it.
type sample struct {
	file          string
	shape         orb.Geometry
	valid, simple bool
}

// differences are the kinds of geometries that we judge otherwise than PostGIS,
// and why. One that fits none fails the test.
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

// Every geometry of the conformance data that has the structure of RFC 7946 gets
// the verdict that PostGIS gives it, but for the kinds listed.
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
	expect.That(t, total >= 200, "only %d geometries: is CORPORA_DIR what it should be?", total)
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
	t.Errorf("%s: valid %v, simple %v, and PostGIS says valid %v (%s), simple %v: %v",
		s.file, s.valid, s.simple, theirs.Valid, theirs.Reason, theirs.Simple, s.shape)
	return "unexplained"
}

// samplesOf reads every GeoJSON text below a folder.
func samplesOf(t *testing.T, folder string) []sample {
	t.Helper()
	rules := transform.GeometryRules{SourceCRS: plane, EmptyGeometry: transform.Accept, Simplicity: transform.Reject}
	gates := func(rules transform.GeometryRules) *transform.Transformer {
		transformer, err := transform.New(transform.Config{Geometry: rules})
		must.That(t, err == nil, "%v", err)
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
				continue // refused for its structure, which PostGIS is not asked about
			}
			f = &transform.Feature{Geometry: f.Geometry} // judged in the plane of its coordinates, whatever they are
			samples = append(samples, sample{
				file: name, shape: f.Geometry.Shape,
				valid:  passes(t, valid, f, classify.CodeGeometryInvalid),
				simple: passes(t, simple, f, classify.CodeGeometryNotSimple),
			})
		}
		return nil
	})
	must.That(t, err == nil, "%v", err)
	return samples
}

// passes reports whether a gate lets a feature pass, which it may refuse with one
// code only; validity comes after simplicity.
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

// recordsOf are the features of a text; a bare geometry is put into one.
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
