package geometry_test

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/geometry"
)

// roundTrip decodes hostile bytes and holds the result to what is promised.
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
	for _, as := range []geometry.Format{geometry.EWKB, geometry.EWKT, geometry.EWKBHex, geometry.EWKBBase64} {
		out := must.Get(geometry.Append(nil, as, g))(t)
		again, err := geometry.Decode(as, out, geometry.Limits{})
		must.That(t, err == nil && same(g, again), "%+v became %s, and that %+v, %v", g, out, again, err)
	}
}

// FuzzWKB: an error, or a geometry that reads back as itself. Never a panic.
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

// What Debezium and PostGIS send: extended well-known binary, with the SRID inside.
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
	g, err := geometry.Decode(geometry.EWKT, []byte("SRID=4326;LINESTRING(8.5 47 430, 8.6 47.1 435)"), geometry.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	g.SRID = 0
	text, err := geometry.Append(nil, geometry.WKT, g)
	fmt.Println(string(text), err)
	// Output:
	// LINESTRING Z (8.5 47 430, 8.6 47.1 435) <nil>
}
