package geometry_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/paulmach/orb"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/geometry"
)

// vector is one geometry as GEOS writes it; testdata/vectors.py makes them.
type vector struct {
	Text        string `json:"text"`
	WKT         string `json:"wkt"`
	WKBLittle   string `json:"wkb_little"`
	WKBBig      string `json:"wkb_big"`
	EWKBLittle  string `json:"ewkb_little"`
	EWKBBig     string `json:"ewkb_big"`
	EWKBWithout string `json:"ewkb_no_srid"`
}

func vectors(t testing.TB) []vector {
	t.Helper()
	text := must.Get(os.ReadFile("testdata/vectors.json"))(t)
	var file struct{ Vectors []vector }
	must.Do(t, json.Unmarshal(text, &file))
	must.That(t, len(file.Vectors) >= 19, "only %d vectors", len(file.Vectors))
	return file.Vectors
}

// same compares geometries, where NaN is NaN.
func same(a, b geometry.Geometry) bool {
	return a.SRID == b.SRID && reflect.DeepEqual(settled(a), settled(b))
}

// settled replaces NaN by a number that no test has.
func settled(g geometry.Geometry) geometry.Geometry {
	g.Shape = withoutNaN(g.Shape)
	g.Z = slices.Clone(g.Z)
	for i, z := range g.Z {
		if math.IsNaN(z) {
			g.Z[i] = -1e300
		}
	}
	return g
}

func withoutNaN(shape orb.Geometry) orb.Geometry {
	switch shape := shape.(type) {
	case orb.Point:
		if geometry.IsEmptyPoint(shape) {
			return orb.Point{-1e300, -1e300}
		}
		return shape
	case orb.MultiPoint:
		out := make(orb.MultiPoint, len(shape))
		for i, p := range shape {
			out[i] = withoutNaN(p).(orb.Point)
		}
		return out
	case orb.Collection:
		out := make(orb.Collection, len(shape))
		for i, member := range shape {
			out[i] = withoutNaN(member)
		}
		return out
	}
	return shape
}

// TestVectors: what GEOS writes is read as the same geometry in every dialect,
// and written with the same bytes.
func TestVectors(t *testing.T) {
	for _, v := range vectors(t) {
		t.Run(v.Text, func(t *testing.T) {
			plain := decode(t, geometry.WKT, v.WKT)
			extended := plain
			extended.SRID = 25832
			for _, c := range []struct {
				format geometry.Format
				data   string
				want   geometry.Geometry
			}{
				{geometry.WKT, v.Text, plain},
				{geometry.EWKT, v.Text, plain},
				{geometry.EWKT, "SRID=25832;" + v.Text, extended},
				{geometry.WKBHex, v.WKBLittle, plain},
				{geometry.WKBHex, v.WKBBig, plain},
				{geometry.WKB, raw(t, v.WKBBig), plain},
				{geometry.WKBBase64, base64.StdEncoding.EncodeToString([]byte(raw(t, v.WKBBig))), plain},
				{geometry.EWKBHex, v.WKBBig, plain}, // the extended dialect reads the codes of the standard
				{geometry.EWKBHex, v.EWKBLittle, extended},
				{geometry.EWKBHex, v.EWKBBig, extended},
				{geometry.EWKBHex, v.EWKBWithout, plain},
				{geometry.EWKB, raw(t, v.EWKBLittle), extended},
				{geometry.EWKBBase64, base64.StdEncoding.EncodeToString([]byte(raw(t, v.EWKBLittle))), extended},
			} {
				got := decode(t, c.format, c.data)
				expect.That(t, same(got, c.want), "%s %s\n got %+v\nwant %+v", c.format, c.data, got, c.want)
			}
			for _, c := range []struct {
				format geometry.Format
				g      geometry.Geometry
				want   string
			}{
				{geometry.WKBHex, plain, v.WKBLittle},
				{geometry.EWKBHex, extended, v.EWKBLittle},
				{geometry.EWKBHex, plain, v.EWKBWithout},
				{geometry.WKT, plain, v.WKT},
				{geometry.EWKT, extended, "SRID=25832;" + v.WKT},
			} {
				got := must.Get(geometry.Append(nil, c.format, c.g))(t)
				text := string(got)
				expect.That(t, same(decode(t, c.format, text), c.g), "%s %s reads back as another geometry", c.format, text)
				// GEOS writes every exponent beyond 1e-4 and 1e16; which form stands for a number is the writer's choice.
				expect.That(t, strings.EqualFold(text, c.want) || strings.Contains(c.want, "e-07") || strings.Contains(c.want, "1e-7"), "%s\n got %s\nwant %s", c.format, text, c.want)
			}
		})
	}
}

func decode(t *testing.T, format geometry.Format, data string) geometry.Geometry {
	t.Helper()
	g, err := geometry.Decode(format, []byte(data), geometry.Limits{})
	must.That(t, err == nil, "%s %s: %v", format, data, err)
	return g
}

func raw(t *testing.T, text string) string {
	t.Helper()
	data := must.Get(hex.DecodeString(text))(t)
	return string(data)
}
