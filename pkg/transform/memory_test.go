package transform

import (
	"runtime"
	"strings"
	"testing"
)

// A decoder may take 64 bytes for each byte of its input, and what it costs to
// begin at all.
const (
	memoryFactor = 64
	memoryFloor  = 64 << 10
)

// withinMemory runs a decoder and holds what it allocated, garbage included, against
// the bound. Allocations of other goroutines would count as well: there are none
// worth speaking of in a fuzz worker, and no test of this package runs beside
// another one.
func withinMemory(t testing.TB, size int, decode func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	decode()
	runtime.ReadMemStats(&after)
	if took, most := after.TotalAlloc-before.TotalAlloc, uint64(memoryFactor*size+memoryFloor); took > most {
		t.Fatalf("%d bytes took %d bytes of memory, %d times as much", size, took, took/uint64(max(size, 1)))
	}
}

// TestMemory: input that is as dense as it can be stays within 64 times itself.
func TestMemory(t *testing.T) {
	const n = 100_000
	many := func(element string) string { return strings.TrimSuffix(strings.Repeat(element+",", n), ",") }
	names := func() string {
		var b strings.Builder
		for i := range n {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(`"_`)
			for ; i > 0; i /= 64 {
				b.WriteByte("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_"[i%64])
			}
			b.WriteString(`":1`)
		}
		return b.String()
	}
	properties := func(inside string) string { return `{"type":"Feature","geometry":null,"properties":{` + inside + `}}` }
	geometry := func(kind, coordinates string) string {
		return `{"type":"Feature","properties":null,"geometry":{"type":"` + kind + `","coordinates":[` + coordinates + `]}}`
	}
	tr, err := New(Config{Limits: Limits{MaxRings: 2 * n, MaxPositions: 10 * n}})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"numbers":       properties(`"a":[` + many("1") + `]`),
		"empty_arrays":  properties(`"a":[` + many("[]") + `]`),
		"empty_objects": properties(`"a":[` + many("{}") + `]`),
		"small_objects": properties(`"a":[` + many(`{"":1}`) + `]`),
		"nested_arrays": properties(`"a":[` + many("[[[[]]]]") + `]`),
		"names":         properties(names()),
		"escapes":       properties(`"a":[` + many(`"\n"`) + `]`),
		"long_escape":   properties(`"a":"` + strings.Repeat(`\n`, n) + `"`),
		"foreign":       `{"type":"Feature","geometry":null,"properties":null,` + names() + `}`,
		"points":        geometry("MultiPoint", many("[1,1]")),
		"lines":         geometry("MultiLineString", many("[[0,0],[1,1]]")),
		"no_lines":      geometry("MultiLineString", many("[]")),
		"no_points":     geometry("MultiPoint", many("[]")),
		"no_rings":      geometry("MultiPolygon", many("[]")),
		"heights":       geometry("LineString", many("[1,1,1]")),
		"collection":    `{"type":"Feature","properties":null,"geometry":{"type":"GeometryCollection","geometries":[` + many(`{"type":"Point","coordinates":[1,1]}`) + `]}}`,
	} {
		t.Run(name, func(t *testing.T) {
			var failure error
			withinMemory(t, len(text), func() { _, failure = tr.Decode([]byte(text)) })
			if failure != nil && name != "no_rings" && name != "no_points" {
				t.Error(failure) // it measured nothing
			}
		})
	}
	for name, text := range map[string]string{
		"features":       `{"type":"FeatureCollection","features":[` + many(`{"type":"Feature","geometry":null,"properties":null}`) + `]}`,
		"empty_features": `{"type":"FeatureCollection","features":[` + many(`{"type":"Feature","geometry":null,"properties":{}}`) + `]}`,
		"crs_for_all":    `{"type":"FeatureCollection","features":[` + many(`{"type":"Feature","geometry":null,"properties":null}`) + `],"crs":"EPSG:4326"}`,
	} {
		t.Run(name, func(t *testing.T) {
			var failure error
			withinMemory(t, len(text), func() { _, failure = tr.DecodeCollection([]byte(text), n) })
			if failure != nil {
				t.Error(failure)
			}
		})
	}
}
