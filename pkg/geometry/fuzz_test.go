package geometry_test

import (
	"encoding/hex"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/geometry"
)

// memoryFactor and memoryFloor bound what a decoder may allocate: 64 bytes for
// each byte of input, and what an error and a header cost.
const (
	memoryFactor = 64
	memoryFloor  = 16 << 10
)

// withinMemory runs a decoder and holds what it allocated, garbage included,
// against the bound.
func withinMemory(t *testing.T, size int, decode func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	decode()
	runtime.ReadMemStats(&after)
	if took, most := after.TotalAlloc-before.TotalAlloc, uint64(memoryFactor*size+memoryFloor); took > most {
		t.Fatalf("%d bytes took %d bytes of memory", size, took)
	}
}

// roundTrip decodes hostile bytes and holds the result to what is promised.
func roundTrip(t *testing.T, format geometry.Format, data []byte) {
	t.Helper()
	before := slices.Clone(data)
	var g geometry.Geometry
	var err error
	withinMemory(t, len(data), func() { g, err = geometry.Decode(format, data, geometry.Limits{DropMeasures: true}) })
	if !slices.Equal(before, data) {
		t.Fatal("the input was modified")
	}
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
		if err != nil || !same(g, again) {
			t.Fatalf("%+v became %s, and that %+v, %v", g, out, again, err)
		}
	}
}

// TestMemory: hostile counts and dense input stay within 64 times the input.
func TestMemory(t *testing.T) {
	dense := func(element string, n int, open, end string) string {
		return open + strings.TrimSuffix(strings.Repeat(element+",", n), ",") + end
	}
	many := func(header, element string, n int) string {
		out := must.Get(hex.DecodeString(header))(t)
		one := must.Get(hex.DecodeString(element))(t)
		out = append(out, byte(n), byte(n>>8), byte(n>>16), 0)
		return string(out) + strings.Repeat(string(one), n)
	}
	limits := geometry.Limits{MaxParts: 1 << 20, MaxPositions: 1 << 20}
	for name, c := range map[string]struct {
		format geometry.Format
		data   string
	}{
		"collections":          {geometry.WKB, many("0107000000", "010700000000000000", 20_000)},
		"points":               {geometry.WKB, many("0104000000", "0101000000"+origin, 20_000)},
		"lines":                {geometry.WKB, many("0105000000", "010200000000000000", 20_000)},
		"polygons":             {geometry.WKB, many("0106000000", "010300000000000000", 20_000)},
		"count_at_every_level": {geometry.WKB, strings.Repeat("\x01\x07\x00\x00\x00\x00\x10\x00\x00", 8) + strings.Repeat("\x00", 0x1000*9)},
		"text_points":          {geometry.WKT, dense("1 1", 20_000, "MULTIPOINT(", ")")},
		"text_empty":           {geometry.WKT, dense("EMPTY", 20_000, "MULTIPOLYGON(", ")")},
		"text_collections":     {geometry.WKT, dense("POINT EMPTY", 20_000, "GEOMETRYCOLLECTION(", ")")},
		"text_heights":         {geometry.EWKT, dense("1 1 1", 20_000, "LINESTRING(", ")")},
	} {
		t.Run(name, func(t *testing.T) {
			data := []byte(c.data)
			withinMemory(t, len(data), func() { _, _ = geometry.Decode(c.format, data, limits) })
		})
	}
}

// FuzzWKB: an error, or a geometry that reads back as itself. Never a panic,
// never more memory than 64 times the input.
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
