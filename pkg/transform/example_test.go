package transform_test

import (
	"context"
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
