package transform

import (
	"math"
	"testing"

	"github.com/paulmach/orb"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
)

// TestEncodeRefuses: what RFC 7946 has no form for is an error, not bad JSON.
func TestEncodeRefuses(t *testing.T) {
	tr := mustNew(t, Config{})
	for _, c := range []struct {
		name string
		f    Feature
		rule Rule
	}{
		{"nan", Feature{Geometry: Geometry{Shape: orb.Point{math.NaN(), 1}}}, RuleNotFinite},
		{"infinite_height", Feature{Geometry: Geometry{Shape: orb.Point{1, 1}, Z: []float64{math.Inf(1)}}}, RuleNotFinite},
		{"infinite_bbox", Feature{BBox: []float64{0, 0, 1, math.Inf(1)}}, RuleNotFinite},
		{"bare_ring", Feature{Geometry: Geometry{Shape: orb.Ring{{0, 0}}}}, RuleTypeWord},
		{"bound", Feature{Geometry: Geometry{Shape: orb.Collection{orb.Bound{}}}}, RuleTypeWord},
		{"heights_missing", Feature{Geometry: Geometry{Shape: orb.LineString{{0, 0}, {1, 1}}, Z: []float64{1}}}, RulePositionSize},
	} {
		t.Run("S0-8_"+c.name, func(t *testing.T) {
			text, err := tr.Encode(&c.f)
			must.That(t, err != nil, "it becomes %s", text)
			e := asError(t, err)
			expect.That(t, e.Stage == classify.StageEncode && e.Rule == string(c.rule), "got %s of %s: %v", e.Rule, e.Stage, err)
		})
	}
}

// TestCanonical: what counts for the content hash, and what does not.
func TestCanonical(t *testing.T) {
	base := `{"type":"Feature","id":"x","geometry":{"type":"Point","coordinates":[1,2]},"properties":{"a":1,"b":{"c":[1,2],"d":"é"}}}`
	tr := mustNew(t, Config{})
	want := string(Canonical(mustDecode(t, tr, base)))
	for _, c := range []struct {
		name, record string
		same         bool
	}{
		{"order_and_space", ` {"properties":{"b":{"d":"\u00e9","c":[1, 2]},"a":1}, "geometry":{"coordinates":[1,2],"type":"Point"},"id":"x","type":"Feature"}`, true},
		{"number_forms", `{"type":"Feature","id":"x","geometry":{"type":"Point","coordinates":[1.0,2e0]},"properties":{"a":1.0,"b":{"c":[10e-1,2],"d":"é"}}}`, true},
		{"bbox_and_foreign_members", `{"type":"Feature","id":"x","bbox":[1,2,1,2],"x":1,"geometry":{"type":"Point","coordinates":[1,2],"y":1},"properties":{"a":1,"b":{"c":[1,2],"d":"é"}}}`, true},
		{"other_id", `{"type":"Feature","id":"y","geometry":{"type":"Point","coordinates":[1,2]},"properties":{"a":1,"b":{"c":[1,2],"d":"é"}}}`, false},
		{"no_id", `{"type":"Feature","geometry":{"type":"Point","coordinates":[1,2]},"properties":{"a":1,"b":{"c":[1,2],"d":"é"}}}`, false},
		{"other_geometry", `{"type":"Feature","id":"x","geometry":{"type":"Point","coordinates":[1,3]},"properties":{"a":1,"b":{"c":[1,2],"d":"é"}}}`, false},
		{"other_type", `{"type":"Feature","id":"x","geometry":{"type":"MultiPoint","coordinates":[[1,2]]},"properties":{"a":1,"b":{"c":[1,2],"d":"é"}}}`, false},
		{"a_height", `{"type":"Feature","id":"x","geometry":{"type":"Point","coordinates":[1,2,0]},"properties":{"a":1,"b":{"c":[1,2],"d":"é"}}}`, false},
		{"array_order", `{"type":"Feature","id":"x","geometry":{"type":"Point","coordinates":[1,2]},"properties":{"a":1,"b":{"c":[2,1],"d":"é"}}}`, false},
		{"string_for_number", `{"type":"Feature","id":"x","geometry":{"type":"Point","coordinates":[1,2]},"properties":{"a":"1","b":{"c":[1,2],"d":"é"}}}`, false},
		{"null_for_missing", `{"type":"Feature","id":"x","geometry":{"type":"Point","coordinates":[1,2]},"properties":{"a":1,"b":{"c":[1,2],"d":"é"},"e":null}}`, false},
	} {
		t.Run("S2-4_"+c.name, func(t *testing.T) {
			got := string(Canonical(mustDecode(t, tr, c.record)))
			expect.That(t, (got == want) == c.same, "got  %s\nbase %s", got, want)
		})
	}
}

// TestCanonicalIsExact: two 64-bit ids that are one double stay two.
func TestCanonicalIsExact(t *testing.T) {
	tr := mustNew(t, Config{})
	for _, pair := range [][2]string{
		{`9007199254740993`, `9007199254740992`},
		{`0.12345678901234567`, `0.123456789012345671`},
		{`1`, `"1"`},
	} {
		a := string(Canonical(mustDecode(t, tr, `{"type":"Feature","id":`+pair[0]+`,"geometry":null,"properties":null}`)))
		b := string(Canonical(mustDecode(t, tr, `{"type":"Feature","id":`+pair[1]+`,"geometry":null,"properties":null}`)))
		expect.That(t, a != b, "S2-4: the ids %s and %s have one form: %s", pair[0], pair[1], a)
	}
	null, empty := Canonical(mustDecode(t, tr, withProperties("null"))), Canonical(mustDecode(t, tr, withProperties("{}")))
	expect.That(t, string(null) == string(empty), "S2-4: null properties give %s, empty ones %s", null, empty)
}
