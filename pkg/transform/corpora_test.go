package transform

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
)

// TestCommittedSet runs the examples in testdata: every one under accepted
// passes all gates and round-trips, every one under refused/<code> is refused
// with this code. It needs no corpora.
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
			e := asError(t, err)
			expect.That(t, e.Code == classify.Code(code), "got %s: %v", e.Code, err)
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

// TestCorpusJSON: with each file of JSONTestSuite as the value of a property,
// every y_ is accepted and every n_ refused; an i_ may be either.
func TestCorpusJSON(t *testing.T) {
	// RFC 8259 leaves duplicate members open ("names SHOULD be unique"). Two
	// readers would take such a record for two different ones, so it is refused.
	stricter := map[string]classify.Code{
		"y_object_duplicated_key.json":           classify.CodeDuplicateKey,
		"y_object_duplicated_key_and_value.json": classify.CodeDuplicateKey,
	}
	tr := mustNew(t, Config{})
	counts := map[string]int{}
	for _, name := range glob(t, filepath.Join(corpus(t, "JSONTestSuite"), "test_parsing/*.json")) {
		base := filepath.Base(name)
		checkQuick(t, tr, []byte(with(string(readFile(t, name)))))
		_, err := tr.Decode(slices.Concat([]byte(`{"type":"Feature","geometry":null,"properties":{"x":`), readFile(t, name), []byte(`}}`)))
		verdict := "accepted"
		if err != nil {
			verdict = "refused"
			asError(t, err)
		}
		counts[base[:1]+" "+verdict]++
		switch {
		case stricter[base] != "":
			expect.That(t, err != nil && asError(t, err).Code == stricter[base], "%s: %v, want %s", base, err, stricter[base])
		case base[0] == 'y' && err != nil:
			t.Errorf("%s is refused: %v", base, err)
		case base[0] == 'n' && err == nil:
			t.Errorf("%s is accepted", base)
		}
	}
	t.Logf("JSONTestSuite: %v (2 of the refused y are duplicate members, by policy)", counts)
	expect.That(t, counts["n refused"] != 0, "the corpus is empty")
}

// differently are the files that we judge differently from their corpus, and
// why. Each is checked: one that changes its verdict fails.
func differently() map[string]string {
	return map[string]string{
		"rfc7946-examples/js/example_02_a.geojson": "a sketch of the RFC: it has no properties, and its ring is not closed",
		"rfc7946-examples/js/example_02_c.geojson": "a sketch of the RFC: it has no properties",

		"geojsonhint/test/data/bad/bad-polygon-interiorring-rhr.geojson":        "winding is fixed, never refused (RFC 7946 section 3.1.6)",
		"geojsonhint/test/data/bad/polygon_winding_order.geojson":               "winding is fixed, never refused (RFC 7946 section 3.1.6)",
		"geojsonhint/test/data/bad/excessive_precision_truncated.geojson":       "precision is rounded (S0-3); the corpus itself lists no fault",
		"geojsonhint/test/data/bad/geometrycollection_nested.geojson":           "section 3.1.8 says SHOULD avoid; nesting is bounded by a limit",
		"geojsonhint/test/data/bad/geometrycollection_single.geojson":           "section 3.1.8 says SHOULD avoid",
		"geojsonhint/test/data/bad/featurecollection_changed_semantics.geojson": "the fault is the collection's, which is no record of ours; its features are sound",
	}
}

// TestCorpusGeoJSON: valid files are accepted and round-trip, invalid ones are
// refused. A FeatureCollection counts by its features, a bare geometry is put
// into a Feature.
func TestCorpusGeoJSON(t *testing.T) {
	tr := mustNew(t, Config{})
	for _, c := range []struct {
		name, pattern string
		valid         bool
	}{
		{"RFC_7946", "rfc7946-examples/js/*.geojson", true},
		{"geojson-schema_valid", "geojson-schema/test/fixtures/valid/*/*.json", true},
		{"geojson-schema_invalid", "geojson-schema/test/fixtures/invalid/*/*.json", false},
		{"geojsonhint_good", "geojsonhint/test/data/good/*.geojson", true},
		{"geojsonhint_bad", "geojsonhint/test/data/bad/*.geojson", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := corpus(t, "")
			counts := map[string]int{}
			for _, name := range glob(t, filepath.Join(root, c.pattern)) {
				relative, _ := filepath.Rel(root, name)
				err := decodeAll(t, tr, readFile(t, name))
				verdict := "accepted"
				if err != nil {
					verdict = "refused: " + string(asError(t, err).Code)
				}
				counts[verdict]++
				reason, differs := differently()[filepath.ToSlash(relative)]
				if differs {
					counts["judged differently"]++
					t.Logf("%s: %s", relative, reason)
				}
				expect.That(t, (err == nil) == (c.valid != differs), "%s: %v", relative, err)
			}
			t.Logf("%s: %v", c.name, counts)
		})
	}
}

// TestCorpusValidity: turf's verdicts on validity, with all gates; what is judged differently is listed.
func TestCorpusValidity(t *testing.T) {
	differs := map[string]string{
		"false/GeometryCollection/nested-collection.geojson": "RFC 7946 section 3.1.8 says SHOULD avoid; nesting is bounded by a limit",
	}
	tr := mustNew(t, Config{})
	for _, verdict := range []string{"true", "false"} {
		counts := map[string]int{}
		root := corpus(t, "turf/turf-boolean-valid/test/"+verdict)
		for _, name := range glob(t, filepath.Join(root, "*/*.geojson")) {
			relative, _ := filepath.Rel(root, name)
			relative = verdict + "/" + filepath.ToSlash(relative)
			got := "accepted"
			for _, record := range recordsOf(readFile(t, name)) {
				if _, err := tr.Apply(t.Context(), record); err != nil {
					got = "refused: " + string(asError(t, err).Code)
				}
			}
			counts[got]++
			if (got == "accepted") != (verdict == "true") != (differs[relative] != "") {
				t.Errorf("%s: %s", relative, got)
			} else if differs[relative] != "" {
				t.Logf("judged differently: %s: %s (%s)", relative, got, differs[relative])
			}
		}
		t.Logf("turf-boolean-valid, %s: %v", verdict, counts)
	}
}

// decodeAll decodes every feature that a GeoJSON text has, and checks that each
// round-trips.
func decodeAll(t *testing.T, tr *Transformer, text []byte) error {
	t.Helper()
	records := recordsOf(text)
	for _, record := range records {
		if _, err := tr.Decode(record); err != nil {
			return err
		}
		checkRoundTrip(t, tr, record)
	}
	return nil
}

// checkRoundTrip checks that a record, decoded and encoded, is the same JSON
// with the same content, and that its text is stable from then on.
func checkRoundTrip(t *testing.T, tr *Transformer, record []byte) {
	t.Helper()
	f := mustDecode(t, tr, string(record))
	once := mustEncode(t, tr, f)
	again := mustDecode(t, tr, once)
	expect.Equal(t, mustEncode(t, tr, again), once, "the text changes")
	expect.That(t, bytes.Equal(Canonical(f), Canonical(again)), "the content changes:\n%s\n%s", Canonical(f), Canonical(again))
}

// TestCorpusWinding: geojson-rewind's pairs. Its files wind by its own option,
// so what counts is that both sides of a pair become one.
func TestCorpusWinding(t *testing.T) {
	tr := mustNew(t, Config{Geometry: GeometryRules{Validity: ValidityFlag}})
	n := 0
	for _, input := range glob(t, filepath.Join(corpus(t, "geojson-rewind"), "test/fixture/*.input.geojson")) {
		output := strings.Replace(input, ".input.", ".output.", 1)
		in, out := contents(t, tr, readFile(t, input)), contents(t, tr, readFile(t, output))
		expect.That(t, slices.Equal(in, out), "%s: got\n%s\nwant\n%s", filepath.Base(input), in, out)
		n += len(in)
	}
	t.Logf("geojson-rewind: %d features", n)
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

// recordsOf returns the features of a FeatureCollection, and a bare geometry put
// into a Feature; any other text is a record as it stands.
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
