package transform

import (
	"bytes"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
)

// What of a feature counts for its content hash: all that a mapping lets into its result, and nothing that it does not.
func TestContent_S2_4_countsWhatTheMappingLetsThrough(t *testing.T) {
	const (
		plain = `{"type":"Feature","id":"x","geometry":{"type":"Point","coordinates":[8,47]},"properties":{"a":1}}`
		begin = `{"type":"Feature","id":"x","geometry":{"type":"Point","coordinates":[8,47]},"properties":{"a":1},`
		named = `"crs":{"type":"name","properties":{"name":"`
	)
	use := GeometryRules{DeclaredCRS: DeclaredUse}
	for name, c := range map[string]struct {
		config   Config
		one, two string
		same     bool
	}{
		"foreign_member_kept":           {Config{}, begin + `"time":{"date":"2026-01-01"}}`, begin + `"time":{"date":"2026-01-02"}}`, false},
		"foreign_member_new":            {Config{}, plain, begin + `"featureType":"road"}`, false},
		"foreign_member_dropped":        {Config{Unmapped: UnmappedDrop}, plain, begin + `"written":"now"}`, true},
		"foreign_members_in_order":      {Config{}, begin + `"a":1,"b":2}`, begin + `"b":2.0,"a":1}`, true},
		"bbox_kept":                     {Config{}, begin + `"bbox":[8,47,8,47]}`, begin + `"bbox":[7,46,9,48]}`, false},
		"bbox_written_otherwise":        {Config{}, begin + `"bbox":[8,47,8,47]}`, begin + `"bbox":[8.0,47,8e0,47.00]}`, true},
		"bbox_checked":                  {Config{Geometry: GeometryRules{BBox: BBoxCheck}}, plain, begin + `"bbox":[8,47,8,47]}`, false},
		"bbox_computed":                 {Config{Geometry: GeometryRules{BBox: BBoxCompute}}, plain, begin + `"bbox":[7,46,9,48]}`, true},
		"bbox_dropped":                  {Config{Geometry: GeometryRules{BBox: BBoxDrop}}, plain, begin + `"bbox":[7,46,9,48]}`, true},
		"crs_used":                      {Config{Geometry: use}, begin + named + `EPSG:25832"}}}`, begin + named + `EPSG:25833"}}}`, false},
		"crs_used_or_not":               {Config{Geometry: use}, plain, begin + named + `EPSG:3857"}}}`, false},
		"crs_that_is_the_same":          {Config{}, plain, begin + named + `urn:ogc:def:crs:OGC:1.3:CRS84"}}}`, true},
		"crs_that_contradicts":          {Config{}, plain, begin + named + `EPSG:25832"}}}`, false},
		"crs_not_known":                 {Config{}, begin + named + `EPSG:1"}}}`, begin + named + `EPSG:2"}}}`, false},
		"crs_that_turns_the_axes":       {Config{Geometry: GeometryRules{SourceCRS: "urn:ogc:def:crs:EPSG::4326"}}, plain, begin + named + `EPSG:4326"}}}`, false},
		"bbox_is_no_foreign_member":     {Config{}, begin + `"bbox":[1,2,3,4]}`, begin + `"box":[1,2,3,4]}`, false},
		"crs_is_no_foreign_member":      {Config{Geometry: use}, begin + named + `EPSG:3857"}}}`, begin + `"x":"EPSG:3857"}`, false},
		"members_of_the_geometry_alone": {Config{}, plain, `{"type":"Feature","id":"x","geometry":{"type":"Point","coordinates":[8,47],"y":1},"properties":{"a":1}}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			tr := mustNew(t, c.config)
			one, two := tr.Content(mustDecode(t, tr, c.one)), tr.Content(mustDecode(t, tr, c.two))
			expect.That(t, bytes.Equal(one, two) == c.same, "same content is %v:\n%q\n%q", !c.same, one, two)
			f := mustDecode(t, tr, plain)
			expect.That(t, bytes.Equal(tr.Content(f), Canonical(f)), "a feature without such members has another content than its canonical form: every hash of old letters would change")
		})
	}
}
