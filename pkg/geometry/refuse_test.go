package geometry_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/paulmach/orb"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/geometry"
)

// origin is the position 0 0 in hexadecimal. The others are single ordinates.
const (
	origin = "00000000000000000000000000000000"
	one    = "000000000000f03f"
	nan    = "000000000000f87f"
	inf    = "000000000000f07f"
)

func TestDecodeRefuses(t *testing.T) {
	nested := strings.Repeat("010700000001000000", 11) + "0107000000" + "00000000"
	for _, c := range []struct {
		name   string
		format geometry.Format
		data   string
		code   classify.Code
		rule   geometry.Rule
		says   string
	}{
		{"nothing", geometry.WKBHex, "", classify.CodeWKBMalformed, geometry.RuleTruncated, "too early"},
		{"odd_hexadecimal", geometry.WKBHex, "010", classify.CodeWKBMalformed, geometry.RuleTextEncoding, "hex"},
		{"bytea_prefix", geometry.EWKBHex, `\x0101000000` + origin, classify.CodeWKBMalformed, geometry.RuleTextEncoding, "no prefix"},
		{"base64_without_padding", geometry.WKBBase64, "AQEAAAA", classify.CodeWKBMalformed, geometry.RuleTextEncoding, "base64"},
		{"hexadecimal_taken_for_bytes", geometry.WKB, "0101000000" + origin, classify.CodeWKBMalformed, geometry.RuleByteOrder, "hexadecimal"},
		{"header_cut", geometry.WKBHex, "0101", classify.CodeWKBMalformed, geometry.RuleTruncated, ""},
		{"position_cut", geometry.WKBHex, "010100000000000000", classify.CodeWKBMalformed, geometry.RuleTruncated, ""},
		{"trailing_data", geometry.WKBHex, "0101000000" + origin + "00", classify.CodeWKBMalformed, geometry.RuleTrailing, "1 bytes follow"},
		{"EWKB_flags_in_WKB", geometry.WKBHex, "0101000020e6100000" + origin, classify.CodeWKBMalformed, geometry.RuleDialect, "EWKB"},
		{"both_dialects_at_once", geometry.EWKBHex, "01e9030080" + origin + one, classify.CodeWKBMalformed, geometry.RuleDialect, "twice"},
		{"unknown_type", geometry.WKBHex, "0163000000" + origin, classify.CodeWKBMalformed, geometry.RuleTypeCode, "0x63 is none of wkb"},
		{"other_byte_order", geometry.WKBHex, "0100000001" + origin, classify.CodeWKBMalformed, geometry.RuleTypeCode, "byte order"},
		{"circular_string", geometry.WKBHex, "010800000000000000", classify.CodeUnsupportedGeometry, geometry.RuleUnsupported, "CIRCULARSTRING"},
		{"polyhedral_surface", geometry.EWKBHex, "010f00008000000000", classify.CodeUnsupportedGeometry, geometry.RuleUnsupported, "POLYHEDRALSURFACE"},
		{"measures", geometry.WKBHex, "01d1070000" + origin + one, classify.CodeUnsupportedGeometry, geometry.RuleMeasures, "measures"},
		{"count_of_positions", geometry.WKBHex, "0102000000ffffffff" + origin, classify.CodeWKBMalformed, geometry.RuleCount, "4294967295 elements"},
		{"count_of_rings", geometry.WKBHex, "0103000000ffffff7f", classify.CodeWKBMalformed, geometry.RuleCount, "remaining 0 bytes"},
		{"count_of_members", geometry.WKBHex, "0107000000ffffff7f", classify.CodeWKBMalformed, geometry.RuleCount, ""},
		{"member_of_another_type", geometry.WKBHex, "0104000000010000000102000000" + "00000000", classify.CodeWKBMalformed, geometry.RuleTypeCode, "LINESTRING is where POINT must"},
		{"nesting", geometry.WKBHex, nested, classify.CodeTooDeep, geometry.RuleDepth, "8 levels"},
		{"line_of_one_position", geometry.WKBHex, "010200000001000000" + origin, classify.CodeGeometryStructure, geometry.RuleLineLength, ""},
		{"ring_of_one_position", geometry.WKBHex, "01030000000100000001000000" + origin, classify.CodeGeometryStructure, geometry.RuleRingLength, "1 positions"},
		{"S0-8_unclosed_ring", geometry.WKBHex, "01030000000100000004000000" + origin + one + one + origin + one + one, classify.CodeGeometryStructure, geometry.RuleRingClosed, "not closed"},
		{"NaN_in_a_line", geometry.WKBHex, "010200000002000000" + origin + nan + nan, classify.CodeCoordinateRange, geometry.RuleNotFinite, ""},
		{"half_empty_point", geometry.WKBHex, "0101000000" + one + nan, classify.CodeCoordinateRange, geometry.RuleNotFinite, ""},
		{"infinite_height", geometry.WKBHex, "01e9030000" + origin + inf, classify.CodeCoordinateRange, geometry.RuleNotFinite, ""},
		{"negative_SRID", geometry.EWKBHex, "0101000020ffffffff" + origin, classify.CodeWKBMalformed, geometry.RuleSRID, "negative"},
		{"two_SRIDs", geometry.EWKBHex, "0104000020e6100000010000000101000020e7100000" + origin, classify.CodeWKBMalformed, geometry.RuleSRID, "different"},

		{"no_text", geometry.WKT, " ", classify.CodeWKTMalformed, geometry.RuleTruncated, "the text ends"},
		{"no_word", geometry.WKT, "(1 2)", classify.CodeWKTMalformed, geometry.RuleSyntax, "word of a geometry"},
		{"SRID_in_WKT", geometry.WKT, "SRID=4326;POINT(1 2)", classify.CodeWKTMalformed, geometry.RuleDialect, "ewkt"},
		{"SRID_too_large", geometry.EWKT, "SRID=4294967296;POINT(1 2)", classify.CodeWKTMalformed, geometry.RuleSRID, ""},
		{"SRID_without_semicolon", geometry.EWKT, "SRID=4326 POINT(1 2)", classify.CodeWKTMalformed, geometry.RuleSyntax, "';'"},
		{"three_ordinates_without_Z", geometry.WKT, "POINT (1 2 3)", classify.CodeWKTMalformed, geometry.RuleDimensions, "Z"},
		{"mixed_ordinates", geometry.EWKT, "LINESTRING (1 2 3, 4 5)", classify.CodeWKTMalformed, geometry.RuleSyntax, "white space"},
		{"one_ordinate", geometry.WKT, "POINT (1)", classify.CodeWKTMalformed, geometry.RuleSyntax, ""},
		{"text_measures", geometry.WKT, "POINT M (1 2 3)", classify.CodeUnsupportedGeometry, geometry.RuleMeasures, ""},
		{"implied_measures", geometry.EWKT, "POINT (1 2 3 4)", classify.CodeUnsupportedGeometry, geometry.RuleMeasures, ""},
		{"curve", geometry.WKT, "CIRCULARSTRING (0 0, 1 1, 2 0)", classify.CodeUnsupportedGeometry, geometry.RuleUnsupported, ""},
		{"tin", geometry.EWKT, "TIN Z (((0 0 0, 0 0 1, 0 1 0, 0 0 0)))", classify.CodeUnsupportedGeometry, geometry.RuleUnsupported, "TIN"},
		{"infinity", geometry.WKT, "POINT (Inf 0)", classify.CodeWKTMalformed, geometry.RuleSyntax, "a number"},
		{"NaN", geometry.WKT, "POINT (NaN NaN)", classify.CodeWKTMalformed, geometry.RuleSyntax, "a number"},
		{"hexadecimal_number", geometry.WKT, "POINT (0x1p4 0)", classify.CodeWKTMalformed, geometry.RuleSyntax, ""},
		{"underscore", geometry.WKT, "POINT (1_0 0)", classify.CodeWKTMalformed, geometry.RuleSyntax, ""},
		{"beyond_double", geometry.WKT, "POINT (1e400 0)", classify.CodeCoordinateRange, geometry.RuleNotFinite, ""},
		{"long_number", geometry.WKT, "POINT (" + strings.Repeat("0", 2000) + "1 0)", classify.CodeLimitExceeded, geometry.RuleSyntax, ""},
		{"no_space", geometry.WKT, "POINT (1-2)", classify.CodeWKTMalformed, geometry.RuleSyntax, ""},
		{"unclosed", geometry.WKT, "POLYGON ((0 0, 1 0, 1 1, 0 0)", classify.CodeWKTMalformed, geometry.RuleTruncated, "')'"},
		{"text_ring_not_closed", geometry.WKT, "POLYGON ((0 0, 1 0, 1 1, 0 1))", classify.CodeGeometryStructure, geometry.RuleRingClosed, ""},
		{"ring_closed_but_for_its_height", geometry.WKT, "POLYGON Z ((0 0 1, 1 0 1, 1 1 1, 0 0 2))", classify.CodeGeometryStructure, geometry.RuleRingClosed, "height"},
		{"text_line", geometry.WKT, "LINESTRING (0 0)", classify.CodeGeometryStructure, geometry.RuleLineLength, ""},
		{"text_trailing", geometry.WKT, "POINT (1 2) POINT (3 4)", classify.CodeWKTMalformed, geometry.RuleTrailing, ""},
		{"text_nesting", geometry.WKT, strings.Repeat("GEOMETRYCOLLECTION(", 40), classify.CodeTooDeep, geometry.RuleDepth, ""},
		{"no_format", "shapefile", "", classify.CodeUnsupportedGeometry, geometry.RuleDialect, "name one of"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, err := geometry.Decode(c.format, []byte(c.data), geometry.Limits{})
			var e *geometry.Error
			must.That(t, errors.As(err, &e), "got %+v, %v", g, err)
			expect.That(t, e.Code == c.code && e.Rule == c.rule && strings.Contains(e.Error(), c.says) && strings.HasPrefix(e.Error(), string(c.format)+": "), "got %s, %s: %v", e.Code, e.Rule, e)
			f := classify.Of(err)
			expect.That(t, f.Code == c.code && f.Class == classify.Row && f.Stage == classify.StageDecode, "classified as %+v", f)
		})
	}
}

// Each limit holds in both kinds of format.
func TestLimits(t *testing.T) {
	const text = "MULTILINESTRING ((0 0, 1 1), (2 2, 3 3), (4 4, 5 5))"
	binary := must.Get(geometry.Append(nil, geometry.WKB, decode(t, geometry.WKT, text)))(t)
	for format, data := range map[geometry.Format][]byte{geometry.WKB: binary, geometry.EWKB: binary, geometry.WKT: []byte(text), geometry.EWKT: []byte(text)} {
		for _, c := range []struct {
			limits geometry.Limits
			rule   geometry.Rule
		}{
			{geometry.Limits{MaxPositions: 6, MaxParts: 3}, ""},
			{geometry.Limits{MaxPositions: 5}, geometry.RulePositions},
			{geometry.Limits{MaxParts: 2}, geometry.RuleParts},
		} {
			_, err := geometry.Decode(format, data, c.limits)
			var e *geometry.Error
			got := errors.As(err, &e)
			expect.That(t, got == (c.rule != "") && (!got || e.Rule == c.rule && e.Code == classify.CodeLimitExceeded), "%s with %+v: %v", format, c.limits, err)
		}
	}
}

// Forms that other writers use are read too. With DropMeasures, M is read and dropped.
func TestReadsWhatWritersVary(t *testing.T) {
	for _, c := range []struct {
		format     geometry.Format
		data, want string
	}{
		{geometry.WKT, "multipoint(1 2,\n3 4)", "MULTIPOINT ((1 2), (3 4))"},
		{geometry.WKT, "MULTIPOINT (EMPTY, (.5 -5.))", "MULTIPOINT (EMPTY, (0.5 -5))"},
		{geometry.WKT, "POINT Z (1 2 NaN)", "POINT (1 2)"},
		{geometry.WKT, "Point(-0 +1E+2)", "POINT (0 100)"},
		{geometry.EWKT, "srid=4326; POINTZ (1 2 3)", "POINT Z (1 2 3)"},
		{geometry.EWKT, "POLYGON((0 0 1,1 0 1,1 1 1,0 0 1))", "POLYGON Z ((0 0 1, 1 0 1, 1 1 1, 0 0 1))"},
		{geometry.EWKBHex, "0104000020e6100000010000000101000020e6100000" + origin, "MULTIPOINT ((0 0))"},
		{geometry.WKT, "POINT M (1 2 9)", "POINT (1 2)"},
		{geometry.WKT, "LINESTRING ZM (1 2 3 9, 4 5 6 9)", "LINESTRING Z (1 2 3, 4 5 6)"},
		{geometry.EWKT, "POINTM(1 2 9)", "POINT (1 2)"},
		{geometry.EWKT, "MULTIPOINT(1 2 3 9, 4 5 6 9)", "MULTIPOINT Z ((1 2 3), (4 5 6))"},
		{geometry.WKBHex, "01d1070000" + one + one + one, "POINT (1 1)"},
		{geometry.WKBHex, "01b90b0000" + one + one + one + origin[:16], "POINT Z (1 1 1)"},
		{geometry.EWKBHex, "01010000c0" + one + one + one + origin[:16], "POINT Z (1 1 1)"},
	} {
		g, err := geometry.Decode(c.format, []byte(c.data), geometry.Limits{DropMeasures: true})
		g.SRID = 0
		expect.That(t, err == nil && same(g, decode(t, geometry.WKT, c.want)), "%s: got %+v, %v", c.data, g, err)
	}
}

func TestEachLine(t *testing.T) {
	ring := orb.Ring{{0, 0}, {1, 0}, {1, 1}, {0, 0}}
	for _, c := range []struct {
		shape            orb.Geometry
		lines, positions int
	}{
		{orb.Point{}, 1, 1}, {geometry.EmptyPoint(), 0, 0}, {orb.MultiPoint{{}, {}}, 1, 2}, {orb.LineString{{}, {}}, 1, 2}, {orb.MultiLineString{{{}, {}}, {{}}}, 2, 3},
		{orb.Polygon{ring, ring}, 2, 8}, {orb.MultiPolygon{{ring}, {ring}}, 2, 8}, {orb.Collection{orb.Polygon{ring}, orb.Point{}}, 2, 5}, {nil, 0, 0},
	} {
		lines, positions := 0, 0
		geometry.EachLine(c.shape, func(line []orb.Point) { lines, positions = lines+1, positions+len(line) })
		expect.That(t, lines == c.lines && positions == c.positions, "%v: %d lines, %d positions", c.shape, lines, positions)
	}
}

func TestAppendRefuses(t *testing.T) {
	huge := decode(t, geometry.WKBHex, "0101000000"+origin).Shape.(orb.Point)
	huge[0] = 1 / huge[1]
	for name, c := range map[string]struct {
		format geometry.Format
		g      geometry.Geometry
		rule   geometry.Rule
	}{
		"format":   {"gml", geometry.Geometry{Shape: orb.Point{}}, geometry.RuleDialect},
		"no_shape": {geometry.WKB, geometry.Geometry{}, geometry.RuleUnsupported},
		"bound":    {geometry.WKB, geometry.Geometry{Shape: orb.Bound{}}, geometry.RuleUnsupported},
		"infinite": {geometry.WKB, geometry.Geometry{Shape: orb.LineString{huge, huge}}, geometry.RuleNotFinite},
		"heights":  {geometry.WKB, geometry.Geometry{Shape: orb.LineString{{1, 2}, {3, 4}}, Z: []float64{1}}, geometry.RuleHeights},
		"height":   {geometry.EWKB, geometry.Geometry{Shape: orb.Point{1, 2}, Z: []float64{huge[0]}}, geometry.RuleNotFinite},
		"srid":     {geometry.WKB, geometry.Geometry{Shape: orb.Point{1, 2}, SRID: 4326}, geometry.RuleSRID},
		"text":     {geometry.WKT, geometry.Geometry{Shape: orb.Point{1, 2}}, geometry.RuleDialect},
	} {
		_, err := geometry.Append(nil, c.format, c.g)
		var e *geometry.Error
		expect.That(t, errors.As(err, &e) && e.Rule == c.rule && e.FailureStage() == classify.StageEncode, "%s: got %v", name, err)
	}
}

// roundTrip decodes hostile bytes and checks the result.
func roundTrip(t *testing.T, format geometry.Format, data []byte) {
	t.Helper()
	before := slices.Clone(data)
	g, err := geometry.Decode(format, data, geometry.Limits{DropMeasures: true})
	must.That(t, slices.Equal(before, data), "the input was modified")
	if err != nil {
		var e *geometry.Error
		if !errors.As(err, &e) || e.Code == "" || e.Message == "" || e.Fix == "" || !slices.Contains(geometry.Rules(), e.Rule) ||
			e.Offset < 0 || e.Offset > len(data) {
			t.Fatalf("%#v leaves something out", err)
		}
		return
	}
	out := must.Get(geometry.Append(nil, geometry.EWKB, g))(t)
	again, err := geometry.Decode(geometry.EWKB, out, geometry.Limits{})
	must.That(t, err == nil && same(g, again), "%+v became %x, and that %+v, %v", g, out, again, err)
}

// The result is an error, or a geometry that reads back as itself. Decode never panics.
func FuzzWKB(f *testing.F) { fuzzBinary(f, geometry.WKB) }

// FuzzEWKB is FuzzWKB for the extended dialect.
func FuzzEWKB(f *testing.F) { fuzzBinary(f, geometry.EWKB) }

func fuzzBinary(f *testing.F, format geometry.Format) {
	f.Helper()
	for _, v := range vectors(f) {
		for _, text := range []string{v.WKBLittle, v.WKBBig, v.EWKBLittle, v.EWKBBig} {
			data := must.Get(hex.DecodeString(text))(f)
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) { roundTrip(t, format, data) })
}

// FuzzWKT is FuzzWKB for both dialects of text.
func FuzzWKT(f *testing.F) {
	for _, v := range vectors(f) {
		f.Add([]byte(v.WKT))
		f.Add([]byte("SRID=4326;" + v.Text))
	}
	f.Add([]byte("MULTIPOINT(1 2 3 4,5 6 7 NaN)"))
	f.Fuzz(func(t *testing.T, data []byte) {
		roundTrip(t, geometry.WKT, data)
		roundTrip(t, geometry.EWKT, data)
	})
}

// Debezium and PostGIS send extended well-known binary with the SRID inside.
func ExampleDecode() {
	g, err := geometry.Decode(geometry.EWKBHex, []byte("01010000A0E6100000000000000000214000000000008047400000000000007B40"), geometry.Limits{})
	fmt.Println(g.Shape, g.Z, g.SRID, err)

	_, err = geometry.Decode(geometry.WKBHex, []byte("01010000A0E6100000000000000000214000000000008047400000000000007B40"), geometry.Limits{})
	fmt.Println(err)
	// Output:
	// [8.5 47] [432] 4326 <nil>
	// wkb_hex: the type code 0xa0000001 has flags of EWKB, the dialect of PostGIS; name an ewkb format
}

func ExampleAppend() {
	wkb, err := geometry.Append(nil, geometry.EWKB, geometry.Geometry{Shape: orb.Point{8.5, 47}, Z: []float64{432}, SRID: 4326})
	fmt.Printf("%X %v\n", wkb, err)
	// Output:
	// 01010000A0E6100000000000000000214000000000008047400000000000007B40 <nil>
}

// vector is one geometry as GEOS writes it; testdata/vectors.py creates them.
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

// same compares geometries and treats NaN as equal to NaN.
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

// The output of GEOS is read as the same geometry in every dialect, and written with the same bytes.
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
				{geometry.WKB, plain, v.WKBLittle},
				{geometry.EWKB, extended, v.EWKBLittle},
				{geometry.EWKB, plain, v.EWKBWithout},
			} {
				got := must.Get(geometry.Append(nil, c.format, c.g))(t)
				expect.That(t, strings.EqualFold(hex.EncodeToString(got), c.want), "%s\n got %x\nwant %s", c.format, got, c.want)
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
