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
