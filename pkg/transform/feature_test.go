package transform

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
)

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

// S0-6: a number has one text, so a feature keeps its identity however its producer writes the id.
func TestIDString_S0_6(t *testing.T) {
	tr := mustNew(t, Config{})
	for id, want := range map[string]string{`1`: "1", `1.0`: "1", `1e0`: "1", `10`: "10", `1e1`: "10", `1.50`: "1.5", `-2.0`: "-2", `10203040506070809091`: "10203040506070809091", `"1.0"`: "1.0", `-0`: "0", `-0.0`: "0", `-0e5`: "0", `"-0"`: "-0"} {
		f := mustDecode(t, tr, `{"type":"Feature","id":`+id+`,"geometry":null,"properties":null}`)
		expect.Equal(t, f.IDString(), want, "the id", id)
	}
}

// The content hash covers everything that a mapping lets into its result, and nothing else.
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
		tr := mustNew(t, c.config)
		one, two := tr.Content(mustDecode(t, tr, c.one)), tr.Content(mustDecode(t, tr, c.two))
		expect.That(t, bytes.Equal(one, two) == c.same, "%v: same content is %v:\n%q\n%q", name, !c.same, one, two)
		f := mustDecode(t, tr, plain)
		expect.That(t, bytes.Equal(tr.Content(f), Canonical(f)), "%v: a feature without such members has a content other than its canonical form: every hash of old dead letters would change", name)
	}
}

func TestReads_S0_6(t *testing.T) {
	flat := &Flatten{}
	for name, c := range map[string]struct {
		config     Config
		note, tags bool // whether the mapping reads the properties note and tags
	}{
		"nothing":                {Config{Unmapped: UnmappedDrop}, false, false},
		"unmapped_kept":          {Config{Unmapped: UnmappedKeep}, true, true},
		"from":                   {Config{Fields: []Field{{To: "x", From: "note"}}}, true, false},
		"the_name_of_the_field":  {Config{Fields: []Field{{To: "note"}}}, true, false},
		"a_longer_name":          {Config{Fields: []Field{{To: "x", From: "notes"}, {To: "y", From: "tags_b"}}}, false, false},
		"a_path":                 {Config{Fields: []Field{{To: "x", From: "tags.a.b"}}}, false, true},
		"a_flattened_name":       {Config{Flatten: flat, Fields: []Field{{To: "x", From: "tags_b"}}}, false, true},
		"expr":                   {Config{Fields: []Field{{To: "x", Expr: `properties.note ?? "none"`}}}, true, false},
		"expr_by_index":          {Config{Fields: []Field{{To: "x", Expr: `properties["tags"] == nil`}}}, false, true},
		"expr_of_all":            {Config{Fields: []Field{{To: "x", Expr: `len(properties)`}}}, true, true},
		"expr_of_another":        {Config{Fields: []Field{{To: "note", Expr: `properties.area`}}}, false, false},
		"target":                 {Config{Fields: []Field{{To: "x", From: "area"}, {To: "note", Expr: `target.x`}}}, false, false},
		"filter":                 {Config{Filter: `properties.note != ""`, Unmapped: UnmappedDrop}, true, false},
		"id_from":                {Config{ID: &IDRule{From: "properties.tags.a"}, Unmapped: UnmappedDrop}, false, true},
		"id_expr":                {Config{ID: &IDRule{Expr: `properties.note`}, Unmapped: UnmappedDrop}, true, false},
		"id_hash_of_all":         {Config{ID: &IDRule{Hash: true}, Unmapped: UnmappedDrop}, true, true},
		"id_from_the_source's":   {Config{ID: &IDRule{Expr: `string(id)`}, Unmapped: UnmappedDrop}, false, false},
		"constants_read_nothing": {Config{Constants: map[string]any{"note": 1}, Unmapped: UnmappedDrop}, false, false},
	} {
		if c.config.Unmapped == "" {
			c.config.Unmapped = UnmappedDrop
		}
		tr := mustNew(t, c.config)
		note, tags := tr.Reads("note"), tr.Reads("tags")
		expect.That(t, note == c.note && tags == c.tags, "%v: note %v, tags %v; want %v, %v", name, note, tags, c.note, c.tags)
	}
}

// some returns a feature of a collection.
func some(id string) string {
	return `{"type":"Feature","id":"` + id + `","geometry":{"type":"LineString","coordinates":[[1,2],[3,4,5]]},"properties":{"n":1.50}}`
}

func collectionOf(features ...string) string {
	return `{"type":"FeatureCollection","features":[` + strings.Join(features, ",") + `]}`
}

func plain(t testing.TB) *Transformer {
	t.Helper()
	return must.Get(New(Config{}))(t)
}

// Each feature of a collection is decoded as if it were a record of its own.
func TestDecodeCollection(t *testing.T) {
	tr := plain(t)
	for name, text := range map[string]string{
		"plain":         collectionOf(some("a"), some("b")),
		"other order":   `{"features":[` + some("a") + "\n, " + some("b") + `], "title":{"a":[1]}, "bbox":[0,0,4,4],"type":"FeatureCollection"}`,
		"whole of text": " " + collectionOf(some("a"), some("b")) + "\n",
	} {
		expect.That(t, IsCollection([]byte(text)), "%v: it is not seen as one", name)
		c, err := tr.DecodeCollection([]byte(text), 2)
		must.That(t, err == nil && len(c.Features) == 2, "%v: got %+v, %v", name, c, err)
		for i, f := range c.Features {
			alone, err := tr.Decode([]byte(some(string("ab"[i]))))
			expect.That(t, err == nil && bytes.Equal(Canonical(f), Canonical(alone)), "%v: feature %d is %s", name, i, Canonical(f))
		}
		expect.That(t, (len(c.Foreign) == 1) == (name == "other order"), "%v: foreign members %v", name, c.Foreign)
	}
	c, err := tr.DecodeCollection([]byte(collectionOf()), 1)
	expect.That(t, err == nil && c.Features != nil && len(c.Features) == 0, "an empty one: %+v, %v", c, err)
}

// A crs of the collection applies to each of its features.
func TestDecodeCollection_S1_4_crs(t *testing.T) {
	tr := plain(t)
	text := strings.Replace(collectionOf(some("a"), some("b")), `"features"`, `"crs":{"type":"name","properties":{"name":"EPSG:99999"}},"features"`, 1)
	c := must.Get(tr.DecodeCollection([]byte(text), 2))(t)
	for _, f := range c.Features {
		err := gateError(t, tr, f)
		expect.Equal(t, asError(t, err).Code, classify.CodeUnknownCRS, "code")
	}
}

// A fault names the feature and the place in the text.
func TestDecodeCollectionRefuses(t *testing.T) {
	tr := plain(t)
	good := some("a")
	for _, c := range []struct {
		name, text string
		code       classify.Code
		rule       Rule
		path       string
		feature    string
	}{
		{"missing member", collectionOf(good, `{"type":"Feature","id":"b","geometry":null}`), classify.CodeNotAFeature, RuleMemberMissing, "/features/1", "b"},
		{"no feature", collectionOf(good, good, `7`), classify.CodeWrongType, RuleMemberType, "/features/2", ""},
		{"null feature", collectionOf(`null`), classify.CodeWrongType, RuleMemberType, "/features/0", ""},
		{"geometry", collectionOf(good, strings.Replace(some("b"), "[1,2]", "[1,null]", 1)), classify.CodeNullOrdinate, RuleNullOrdinate, "/features/1/geometry/coordinates/0/1", "b"},
		{"ring", collectionOf(strings.Replace(some("c"), `"LineString","coordinates":[[1,2],[3,4,5]]`, `"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,1]]]`, 1)), classify.CodeGeometryStructure, RuleRingClosed, "/features/0/geometry/coordinates/0", "c"},
		{"nested", collectionOf(good, collectionOf(good)), classify.CodeNotAFeature, RuleFeatureObject, "/features/1/type", ""},
		{"too many", collectionOf(good, good, good, good), classify.CodeLimitExceeded, RuleFeatures, "/features", ""},
		{"no features", `{"type":"FeatureCollection"}`, classify.CodeNotAFeature, RuleMemberMissing, "", ""},
		{"features are not an array", `{"type":"FeatureCollection","features":{}}`, classify.CodeWrongType, RuleMemberType, "/features", ""},
		{"a geometry of its own", `{"type":"FeatureCollection","geometry":null,"features":[]}`, classify.CodeNotAFeature, RuleMemberMeaning, "/geometry", ""},
		{"case", `{"type":"FeatureCollection","Features":[]}`, classify.CodeMemberCase, RuleMemberCase, "/Features", ""},
		{"twice", `{"type":"FeatureCollection","features":[],"features":[]}`, classify.CodeDuplicateKey, RuleDuplicateMember, "/features", ""},
		{"bbox", `{"type":"FeatureCollection","bbox":[1],"features":[]}`, classify.CodeWrongType, RuleBBoxSize, "/bbox", ""},
		{"truncated", `{"type":"FeatureCollection","features":[` + good, classify.CodeTruncatedJSON, RuleTruncated, "/features", ""},
		{"trailing data", collectionOf(good) + "{}", classify.CodeTrailingData, RuleTrailingData, "", ""},
		{"empty", " ", classify.CodeEmptyValue, RuleEmptyValue, "", ""},
		{"no object", "[]", classify.CodeNotAFeature, RuleFeatureObject, "", ""},
	} {
		most := 3
		if c.name == "too many" {
			most = 2
		}
		_, err := tr.DecodeCollection([]byte(c.text), most)
		var e *Error
		must.That(t, errors.As(err, &e), "%v: got %v", c.name, err)
		checkError(t, err, len(c.text))
		expect.That(t, e.Code == c.code && e.Rule == string(c.rule) && strings.HasPrefix(e.Path, c.path) && (c.path != "" || e.Path == "") && e.Feature == c.feature,
			"%v: got %s, %s, %q, feature %q: %v", c.name, e.Code, e.Rule, e.Path, e.Feature, e)
	}
}

// The result is an error with its place, or features that equal those decoded alone.
func FuzzDecodeCollection(f *testing.F) {
	f.Add([]byte(collectionOf(some("a"), some("b"))))
	f.Add([]byte(`{"features":[{"type":"Feature","geometry":null,"properties":null}],"crs":"EPSG:4326","type":"FeatureCollection"}`))
	f.Add([]byte(`{"type":"FeatureCollection","features":[[[[{}]]]]}`))
	tr := must.Get(New(Config{}))(f)
	f.Fuzz(func(t *testing.T, record []byte) {
		c, err := tr.DecodeCollection(record, 1000)
		if err != nil {
			checkError(t, err, len(record))
			return
		}
		must.That(t, len(c.Features) <= len(record)/2, "%d features in %d bytes", len(c.Features), len(record))
		for i, one := range c.Features {
			text := must.Get(tr.Encode(one))(t)
			again, err := tr.Decode(text)
			must.That(t, err == nil && bytes.Equal(Canonical(again), Canonical(one)), "feature %d: %s, %v", i, text, err)
		}
	})
}
