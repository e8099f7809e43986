package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// Two unit squares that share arc 1, the second one backwards, and an island of two positions.
const squares = `{"type":"Topology","transform":{"scale":[0.5,0.5],"translate":[10,20]},
"objects":{"counties":{"type":"GeometryCollection","geometries":[
 {"type":"Polygon","id":"01001","properties":{"name":"West"},"arcs":[[0,1]]},
 {"type":"MultiPolygon","id":"01003","properties":{"name":"East"},"arcs":[[[2,-2]],[[3]]]}]},
 "states":{"type":"GeometryCollection","geometries":[{"type":"Polygon","id":"01","properties":{"name":"Alabama"},"arcs":[]}]}},
"arcs":[[[2,2],[-2,0],[0,-2],[2,0]],[[2,0],[0,2]],[[2,0],[2,0],[0,2],[-2,0]],[[8,8],[1,0],[-1,0]]]}`

func TestConvert_joins_shared_arcs_and_pads_nothing(t *testing.T) {
	dir := t.TempDir()
	quakes, counties := filepath.Join(dir, "quakes.json"), filepath.Join(dir, "counties.json")
	write(t, quakes, "{\"type\":\"FeatureCollection\",\"features\":[{\"type\":\"Feature\",\"properties\":{\"mag\":2.0},\n\"id\":\"a\"},\n{\"id\":\"b\"}]}")
	write(t, counties, squares)
	must.Do(t, convert(quakes, counties, dir))
	tables := map[string][]string{
		"earthquakes.ndjson.zst": {`{"type":"Feature","properties":{"mag":2.0},"id":"a"}`, `{"id":"b"}`},
		"counties.ndjson.zst": {
			`{"type":"Feature","id":"01001","properties":{"name":"West"},"geometry":{"type":"Polygon","coordinates":[[[11,21],[10,21],[10,20],[11,20],[11,21]]]}}`,
			`{"type":"Feature","id":"01003","properties":{"name":"East"},"geometry":{"type":"MultiPolygon","coordinates":[[[[11,20],[12,20],[12,21],[11,21],[11,20]]],[[[14,24],[14.5,24],[14,24]]]]}}`,
		},
	}
	for name, want := range tables {
		got := unpack(t, filepath.Join(dir, name))
		expect.That(t, slices.Equal(got, want), "%s:\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	states, err := os.ReadFile(filepath.Join(dir, "states.json"))
	expect.That(t, err == nil && string(states) == "{\n  \"01\": \"Alabama\"\n}\n", "states.json: %q, %v", states, err)
}

func TestConvert_says_which_file_or_feature_is_wrong(t *testing.T) {
	dir := t.TempDir()
	good, broken, point := filepath.Join(dir, "good.json"), filepath.Join(dir, "broken.json"), filepath.Join(dir, "point.json")
	write(t, good, `{"features":[]}`)
	write(t, broken, `{"features":[`)
	write(t, point, strings.Replace(squares, `"Polygon","id":"01001"`, `"Point","id":"01001"`, 1))
	for _, c := range []struct{ quakes, counties, want string }{
		{"absent.json", good, "absent.json"},
		{broken, good, broken},
		{good, broken, broken},
		{good, point, `counties 01001: type "Point"`},
	} {
		err := convert(c.quakes, c.counties, dir)
		expect.That(t, err != nil && strings.Contains(err.Error(), c.want), "convert(%s, %s) = %v, want an error with %q", c.quakes, c.counties, err, c.want)
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	must.Do(t, os.WriteFile(path, []byte(content), 0o600))
}

func unpack(t *testing.T, path string) []string {
	t.Helper()
	packed := must.Get(os.ReadFile(path))(t)
	dec := must.Get(zstd.NewReader(nil))(t)
	defer dec.Close()
	lines := must.Get(dec.DecodeAll(packed, nil))(t)
	return strings.Split(strings.TrimRight(string(lines), "\n"), "\n")
}
