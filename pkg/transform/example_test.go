package transform_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/switchback-geo/switchback/pkg/transform"
)

// A mapping renames, coerces and rounds.
func Example() {
	decimals := 3
	t, err := transform.New(transform.Config{
		Fields: []transform.Field{
			{From: "PARZ_ID", To: "parcel_id", Type: transform.TypeString, Required: true},
			{From: "owner.name", To: "owner"},
			{From: "AREA", To: "area_m2", Type: transform.TypeNumber, NullValues: []any{"N/A"}},
		},
		Unmapped: transform.UnmappedDrop,
		Geometry: transform.GeometryRules{RoundDecimals: &decimals},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	f, err := t.Apply(context.Background(), []byte(`{"type": "Feature", "id": 17,
		"geometry": {"type": "Point", "coordinates": [9.5209277, 47.1410281, 455]},
		"properties": {"PARZ_ID": 17, "AREA": "1234.5", "owner": {"name": "Vaduz"}}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := t.Encode(f)
	fmt.Println(string(out), err)
	// Output: {"type":"Feature","id":17,"geometry":{"type":"Point","coordinates":[9.521,47.141,455]},"properties":{"parcel_id":"17","owner":"Vaduz","area_m2":1234.5}} <nil>
}

// A config is checked as a whole: every fault has its place.
func ExampleNew() {
	_, err := transform.New(transform.Config{
		Fields: []transform.Field{
			{From: "A", To: "area", Type: "float"},
			{From: "B", To: "area"},
		},
		Geometry: transform.GeometryRules{SourceCRS: "EPSG:31465"},
	})
	fmt.Println(err)
	// Output:
	// fields[0].type: "float" is not known; write one of "string", "integer", "number", "decimal", "boolean", "date", "datetime", "enum", "array", "object"
	// fields[1].to: fields[0] writes "area" already; name another property, or take one rule away
	// geometry.source_crs: the coordinate reference system "EPSG:31465" is not supported: it is DHDN / 3-degree Gauss zone 5, for which EPSG has EPSG:31469 today; the nearest that are supported: EPSG:31469 (DHDN / 3-degree Gauss-Kruger zone 5), EPSG:31468 (DHDN / 3-degree Gauss-Kruger zone 4), EPSG:4314 (DHDN), EPSG:31466 (DHDN / 3-degree Gauss-Kruger zone 2); docs/crs.md lists all
}

// An error says what is wrong, where, and what would make the record pass.
func ExampleTransformer_Decode() {
	t, _ := transform.New(transform.Config{})
	_, err := t.Decode([]byte(`{"type": "Feature", "id": "p1", "properties": null,
 "geometry": {"type": "Polygon", "coordinates": [[[0,0], [1,0], [1,1], [0,1]]]}}`))
	if e, ok := errors.AsType[*transform.Error](err); ok {
		fmt.Println(e.Code, e.Rule, e.Path, e.Line, e.Column)
	}
	fmt.Println(err)
	// Output:
	// geometry_structure ring_closed /geometry/coordinates/0 2 50
	// a ring is not closed at /geometry/coordinates/0 (line 2, column 50), feature "p1"; repeat its first position, height included, at its end
}

// An invalid geometry is refused with the place of its fault.
func ExampleTransformer_Gate() {
	t, _ := transform.New(transform.Config{})
	f, _ := t.Decode([]byte(`{"type":"Feature","geometry":{"type":"Polygon","coordinates":[[[0,0],[2,2],[2,0],[0,2],[0,0]]]},"properties":null}`))
	_, err := t.Gate(context.Background(), f)
	fmt.Println(err)
	// Output: a ring meets itself near 1 1 at /geometry/coordinates/0; correct the geometry, or set geometry.validity: flag
}

// The canonical form does not depend on the order of members or on how numbers
// are written.
func ExampleCanonical() {
	t, _ := transform.New(transform.Config{})
	one, _ := t.Decode([]byte(`{"type": "Feature", "id": "x", "geometry": {"type": "Point", "coordinates": [9.5, 47.10]}, "properties": {"a": 1200, "b": 1}}`))
	other, _ := t.Decode([]byte(`{"properties":{"b":1.0,"a":12e2},"geometry":{"coordinates":[9.5,47.1],"type":"Point"},"id":"x","type":"Feature"}`))
	fmt.Println(bytes.Equal(transform.Canonical(one), transform.Canonical(other)))
	// Output: true
}

// A mapping with types, units, a value map and an expression.
func ExampleTransformer_Map() {
	t, err := transform.New(transform.Config{
		Fields: []transform.Field{
			{From: "GEAENDERT", To: "updated", Type: transform.TypeDateTime, Formats: []string{"%d.%m.%Y %H:%M"}, TimeZone: "Europe/Zurich"},
			{From: "ZONE", To: "zone", Map: map[string]any{"W2": "residential", "I": "industrial"}},
			{From: "height_ft", To: "height_m", Type: transform.TypeNumber, Units: &transform.Units{From: "ft", To: "m"}},
			{To: "tall", Expr: `target.height_m > 30`},
		},
		Unmapped: transform.UnmappedDrop,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	f, err := t.Apply(context.Background(), []byte(`{"type":"Feature","geometry":null,"properties":{"GEAENDERT":"21.07.2026 10:00","ZONE":"W2","height_ft":100}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	text, _ := t.Encode(f)
	fmt.Println(string(text))
	// Output: {"type":"Feature","geometry":null,"properties":{"updated":"2026-07-21T08:00:00Z","zone":"residential","height_m":30.48,"tall":true}}
}

func ExampleFeature_Property() {
	t, _ := transform.New(transform.Config{})
	f, _ := t.Decode([]byte(`{"type":"Feature","geometry":null,"properties":{"owner":{"name":"Vaduz"},"tags":["a","b"]}}`))
	name, _ := f.Property("owner.name")
	tag, _ := f.Property("tags.1")
	_, found := f.Property("owner.age")
	fmt.Println(name.Text(), tag.Text(), found)
	// Output: Vaduz b false
}
