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

// some is a feature of a collection.
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

// Each feature of a collection is what it would be as a record of its own.
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

// A crs of the collection counts for each of its features.
func TestDecodeCollection_S1_4_crs(t *testing.T) {
	tr := plain(t)
	text := strings.Replace(collectionOf(some("a"), some("b")), `"features"`, `"crs":{"type":"name","properties":{"name":"EPSG:99999"}},"features"`, 1)
	c := must.Get(tr.DecodeCollection([]byte(text), 2))(t)
	for _, f := range c.Features {
		err := gateError(t, tr, f)
		expect.That(t, classify.Of(errOr(err)).Code == classify.CodeUnknownCRS, "got %v", err)
	}
}

func errOr(err error) error {
	if err == nil {
		return errors.New("no error")
	}
	return err
}

func TestIsCollection(t *testing.T) {
	for text, want := range map[string]bool{
		`{"type":"FeatureCollection"`: true, `{"a":{"type":"Feature"},"type":"FeatureCollection","features":1}`: true,
		`{"type":"Feature"}`: false, `{"type":["FeatureCollection"]}`: false, `{"features":[]}`: false, `[]`: false, ``: false, `{`: false, `{"a":[`: false,
		`{"a":{"type":"FeatureCollection"}}`: false, `"FeatureCollection"`: false,
	} {
		expect.Equal(t, IsCollection([]byte(text)), want, text)
	}
}

// A fault says in which feature it is, and where in the text.
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
		{"features are no array", `{"type":"FeatureCollection","features":{}}`, classify.CodeWrongType, RuleMemberType, "/features", ""},
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

// FuzzDecodeCollection: an error with its place, or features that are each what
// they would be alone.
func FuzzDecodeCollection(f *testing.F) {
	f.Add([]byte(collectionOf(some("a"), some("b"))))
	f.Add([]byte(`{"features":[{"type":"Feature","geometry":null,"properties":null}],"crs":"EPSG:4326","type":"FeatureCollection"}`))
	f.Add([]byte(`{"type":"FeatureCollection","features":[[[[{}]]]]}`))
	tr, err := New(Config{})
	must.Do(f, err)
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
