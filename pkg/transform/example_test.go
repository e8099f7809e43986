package transform_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
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

// CutCollection returns each feature as it is written, and the text around the features.
func TestCutCollection(t *testing.T) {
	const text = ` {"crs": null , "features" : [ {"a" : "]\"[,"} ,[1, 2] , 3 ] , "type":"FeatureCollection","x":{"features":[9]}} ` + "\n"
	p, ok := transform.CutCollection([]byte(text))
	must.That(t, ok && p.Len() == 3, "%d pieces, %v", p.Len(), ok)
	for i, want := range []string{`{"a" : "]\"[,"}`, `[1, 2]`, `3`} {
		alone := strings.Replace(text, `[ {"a" : "]\"[,"} ,[1, 2] , 3 ]`, "["+want+"]", 1)
		expect.Equal(t, string(p.Feature(i)), want, "piece", i)
		expect.Equal(t, string(p.Alone(i)), alone, "alone, piece", i)
	}
	empty := string(p.Empty())
	expect.That(t, len(empty) == p.Frame() && strings.Contains(empty, `"features" : [] ,`), "empty: %s, frame of %d bytes", empty, p.Frame())
}

// A text that is not a collection has no pieces.
func TestCutCollectionRefuses(t *testing.T) {
	for _, text := range []string{
		"", "[]", "{", `{"features":1}`, `{"features":{}}`, `{"type":"FeatureCollection"}`, `{"features":[1,]}`, `{"features":[1}`, `{"features":[1]`,
		`{"features":[1]} 2`, `{"features":[1],"features":[2]}`, `{"features":[{"a":1,"a":2}]}`, "{\"features\":[\"\xff\"]}", `{"features":[1],"x":}`,
	} {
		p, ok := transform.CutCollection([]byte(text))
		expect.That(t, !ok, "%s was cut into %d pieces", text, p.Len())
	}
	p, ok := transform.CutCollection([]byte(`{"features":[]}`))
	expect.That(t, ok && p.Len() == 0, "a collection without features is one")
}
