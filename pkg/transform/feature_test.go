package transform

import (
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
)

func TestFeatureSetProperty(t *testing.T) {
	tr := mustNew(t, Config{})
	f := mustDecode(t, tr, feature("null"))
	f.SetProperty("a.b", IntegerValue(1))
	f.SetProperty("c", StringValue("x"))
	f.SetProperty("a.b", BooleanValue(true))
	f.SetProperty("bad\xff", StringValue("\xff"))
	want := `{"type":"Feature","geometry":null,"properties":{"a.b":true,"c":"x","bad` + "\uFFFD" + `":"` + "\uFFFD" + `"}}`
	expect.Equal(t, mustEncode(t, tr, f), want)
}

func TestFeatureText(t *testing.T) {
	for _, c := range []struct{ name, record, id, bbox string }{
		{"point", `{"type":"Feature","id":"x","geometry":{"type":"Point","coordinates":[1.50,-2,9]},"properties":null}`, "x", "1.5,-2,1.5,-2"},
		{"number_id", `{"type":"Feature","id":9007199254740993,"geometry":null,"properties":null}`, "9007199254740993", ""},
		{"no_id_own_bbox", `{"type":"Feature","bbox":[1,2,3,4],"geometry":null,"properties":null}`, "", "1,2,3,4"},
		{"own_bbox_3d", `{"type":"Feature","bbox":[1,2,3,4,5,6],"geometry":null,"properties":null}`, "", "1,2,4,5"},
		{"bounds_win_over_bbox", `{"type":"Feature","bbox":[1,2,3,4],"geometry":{"type":"MultiPoint","coordinates":[[5,9],[-7,8]]},"properties":null}`, "", "-7,8,5,9"},
		{"empty_geometry", `{"type":"Feature","geometry":{"type":"Polygon","coordinates":[]},"properties":null}`, "", ""},
		{"collection", `{"type":"Feature","geometry":{"type":"GeometryCollection","geometries":[{"type":"Point","coordinates":[1,2]},{"type":"LineString","coordinates":[[3,4],[-5,6]]}]},"properties":null}`, "", "-5,2,3,6"},
	} {
		t.Run("S2-5_"+c.name, func(t *testing.T) {
			f := mustDecode(t, mustNew(t, Config{}), c.record)
			expect.That(t, f.IDString() == c.id && f.BBoxString() == c.bbox, "id %q, bbox %q; want %q, %q", f.IDString(), f.BBoxString(), c.id, c.bbox)
		})
	}
}

// S0-6: one number has one text, so that a feature keeps its identity however its producer writes the id.
func TestIDString_S0_6(t *testing.T) {
	tr := mustNew(t, Config{})
	for id, want := range map[string]string{`1`: "1", `1.0`: "1", `1e0`: "1", `10`: "10", `1e1`: "10", `1.50`: "1.5", `-2.0`: "-2", `10203040506070809091`: "10203040506070809091", `"1.0"`: "1.0", `-0`: "0", `-0.0`: "0", `-0e5`: "0", `"-0"`: "-0"} {
		f := mustDecode(t, tr, `{"type":"Feature","id":`+id+`,"geometry":null,"properties":null}`)
		expect.Equal(t, f.IDString(), want, "the id", id)
	}
}
