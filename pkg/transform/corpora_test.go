package transform

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
)

// Each example under testdata/accepted passes all gates and round-trips. Each example under testdata/refused/<code> is
// refused with that code. The test needs no corpora.
func TestCommittedSet(t *testing.T) {
	tr := mustNew(t, Config{})
	lenient := mustNew(t, Config{Geometry: GeometryRules{EmptyGeometry: Accept}})
	for _, name := range glob(t, "testdata/accepted/*.json") {
		t.Run("S0-8_"+filepath.Base(name), func(t *testing.T) {
			record := readFile(t, name)
			must.Get(lenient.Apply(t.Context(), record))(t)
			checkRoundTrip(t, lenient, record)
		})
	}
	for _, name := range glob(t, "testdata/refused/*/*.json") {
		code := filepath.Base(filepath.Dir(name))
		t.Run("S0-8_"+code+"_"+filepath.Base(name), func(t *testing.T) {
			_, err := tr.Apply(t.Context(), readFile(t, name))
			must.That(t, err != nil, "it passes")
			expect.Equal(t, asError(t, err).Code, classify.Code(code), "got code")
		})
	}
}

// corpus returns a folder of the published conformance data.
func corpus(t *testing.T, folder string) string {
	t.Helper()
	root := os.Getenv("CORPORA_DIR")
	if root == "" {
		t.Skip("CORPORA_DIR is not set: this test reads published conformance data; TestCommittedSet runs without it")
	}
	return filepath.Join(root, folder)
}

// JSONTestSuite: each file is decoded as the value of a property. Every y_ file is accepted and every n_ file refused;
// an i_ file may be either.
func TestCorpusJSON(t *testing.T) {
	// RFC 8259 leaves duplicate members open ("names SHOULD be unique"). Two readers could read such a record
	// differently, so it is refused.
	stricter := map[string]classify.Code{
		"y_object_duplicated_key.json":           classify.CodeDuplicateKey,
		"y_object_duplicated_key_and_value.json": classify.CodeDuplicateKey,
	}
	tr := mustNew(t, Config{})
	for _, name := range glob(t, filepath.Join(corpus(t, "JSONTestSuite"), "test_parsing/*.json")) {
		base := filepath.Base(name)
		checkQuick(t, tr, []byte(with(string(readFile(t, name)))))
		_, err := tr.Decode(slices.Concat([]byte(`{"type":"Feature","geometry":null,"properties":{"x":`), readFile(t, name), []byte(`}}`)))
		switch {
		case stricter[base] != "":
			expect.That(t, err != nil && asError(t, err).Code == stricter[base], "%s: %v, want %s", base, err, stricter[base])
		case base[0] == 'y':
			expect.Do(t, err, base, "is refused")
		case base[0] == 'n':
			expect.That(t, err != nil, "%s is accepted", base)
		}
	}
}

// differently lists the files for which our verdict differs from that of their corpus, with the reason. The test fails
// if a verdict changes.
func differently() map[string]string {
	return map[string]string{
		"rfc7946-examples/js/example_02_a.geojson": "a sketch of the RFC: it has no properties, and its ring is not closed",
		"rfc7946-examples/js/example_02_c.geojson": "a sketch of the RFC: it has no properties",

		"turf/turf-boolean-valid/test/false/GeometryCollection/nested-collection.geojson": "section 3.1.8 says SHOULD avoid; nesting is bounded by a limit",

		"geojsonhint/test/data/bad/bad-polygon-interiorring-rhr.geojson":        "winding is fixed, never refused (RFC 7946 section 3.1.6)",
		"geojsonhint/test/data/bad/polygon_winding_order.geojson":               "winding is fixed, never refused (RFC 7946 section 3.1.6)",
		"geojsonhint/test/data/bad/excessive_precision_truncated.geojson":       "precision is rounded (S0-3); the corpus itself lists no fault",
		"geojsonhint/test/data/bad/geometrycollection_nested.geojson":           "section 3.1.8 says SHOULD avoid; nesting is bounded by a limit",
		"geojsonhint/test/data/bad/geometrycollection_single.geojson":           "section 3.1.8 says SHOULD avoid",
		"geojsonhint/test/data/bad/featurecollection_changed_semantics.geojson": "the fault is the collection's, which is not a record here; its features are valid",
	}
}

// Valid files are accepted and round-trip, invalid ones are refused. The files of turf test validity and go through
// all gates. A FeatureCollection counts as its features, and a bare geometry is put into a Feature.
func TestCorpusGeoJSON(t *testing.T) {
	tr, root := mustNew(t, Config{}), corpus(t, "")
	for _, c := range []struct {
		pattern      string
		valid, gates bool
	}{
		{"rfc7946-examples/js/*.geojson", true, false},
		{"geojson-schema/test/fixtures/valid/*/*.json", true, false},
		{"geojson-schema/test/fixtures/invalid/*/*.json", false, false},
		{"geojsonhint/test/data/good/*.geojson", true, false},
		{"geojsonhint/test/data/bad/*.geojson", false, false},
		{"turf/turf-boolean-valid/test/true/*/*.geojson", true, true},
		{"turf/turf-boolean-valid/test/false/*/*.geojson", false, true},
	} {
		for _, name := range glob(t, filepath.Join(root, c.pattern)) {
			var refused error
			for _, record := range recordsOf(readFile(t, name)) {
				_, err := tr.Decode(record)
				if err == nil {
					checkRoundTrip(t, tr, record)
				}
				if c.gates {
					_, err = tr.Apply(t.Context(), record)
				}
				refused = errors.Join(refused, err)
			}
			relative, _ := filepath.Rel(root, name)
			_, differs := differently()[filepath.ToSlash(relative)]
			expect.That(t, (refused == nil) == (c.valid != differs), "%s: %v", relative, refused)
		}
	}
}

// checkRoundTrip checks that a record is the same JSON with the same content after decoding and encoding, and that its
// text is stable from then on.
func checkRoundTrip(t *testing.T, tr *Transformer, record []byte) {
	t.Helper()
	f := mustDecode(t, tr, string(record))
	once := mustEncode(t, tr, f)
	again := mustDecode(t, tr, once)
	expect.Equal(t, mustEncode(t, tr, again), once, "the text changes")
	expect.That(t, bytes.Equal(Canonical(f), Canonical(again)), "the content changes:\n%s\n%s", Canonical(f), Canonical(again))
}

// The pairs of geojson-rewind depend on an option for the winding. The test checks that both sides of a pair are mapped
// to the same content.
func TestCorpusWinding(t *testing.T) {
	tr := mustNew(t, Config{Geometry: GeometryRules{Validity: ValidityFlag}})
	for _, input := range glob(t, filepath.Join(corpus(t, "geojson-rewind"), "test/fixture/*.input.geojson")) {
		output := strings.Replace(input, ".input.", ".output.", 1)
		in, out := contents(t, tr, readFile(t, input)), contents(t, tr, readFile(t, output))
		expect.That(t, slices.Equal(in, out), "%s: got\n%s\nwant\n%s", filepath.Base(input), in, out)
	}
}

// contents maps every feature of a text and returns the contents of the results.
func contents(t *testing.T, tr *Transformer, text []byte) []string {
	t.Helper()
	var out []string
	for _, record := range recordsOf(text) {
		f := must.Get(tr.Apply(t.Context(), record))(t)
		out = append(out, string(Canonical(f)))
	}
	return out
}

// recordsOf returns the features of a FeatureCollection, or a bare geometry put into a Feature. Any other text is one
// record.
func recordsOf(text []byte) [][]byte {
	var object map[string]json.RawMessage
	var features []json.RawMessage
	if err := json.Unmarshal(text, &object); err != nil || object == nil {
		return [][]byte{text}
	}
	switch kind := string(object["type"]); {
	case kind == `"FeatureCollection"` && json.Unmarshal(object["features"], &features) == nil:
		var records [][]byte
		for _, feature := range features {
			records = append(records, feature)
		}
		return records
	case kind == `"Feature"` || kind == `"FeatureCollection"`:
		return [][]byte{text}
	}
	return [][]byte{slices.Concat([]byte(`{"type":"Feature","properties":null,"geometry":`), text, []byte(`}`))}
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(pattern)
	must.That(t, err == nil && len(names) != 0, "no file %s (%v)", pattern, err)
	return names
}

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	return must.Get(os.ReadFile(name))(t)
}
