package transform

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/geometry/repair"
)

// seed adds the examples of testdata and some hostile ones.
func seed(f *testing.F) {
	f.Helper()
	for _, pattern := range []string{"testdata/accepted/*.json", "testdata/refused/*/*.json"} {
		names, err := filepath.Glob(pattern)
		must.That(f, err == nil && len(names) != 0, "no file %s (%v)", pattern, err)
		for _, name := range names {
			text := must.Get(os.ReadFile(name))(f)
			f.Add(text)
		}
	}
	f.Add([]byte(`{"type":"Feature","geometry":{"type":"Polygon","coordinates":[[[0,0,1],[1,0],[1,1,1],[0,0,1]],[]]},"properties":{"a":{"b":[-0,1e-400]}}}`))
	f.Add([]byte(`{"type":"Feature","geometry":{"coordinates":[[[[]]]],"type":"MultiPolygon"},"properties":{"a":"\u0000\\"}}`))
}

// FuzzDecode: an error with its place, or a feature whose text is stable and
// whose content survives. Never a panic. The quick way to read coordinates and
// the careful one agree, in what they take and in what they say.
func FuzzDecode(f *testing.F) {
	seed(f)
	tr, err := New(Config{})
	must.Do(f, err)
	careful, err := New(Config{Limits: Limits{MaxNumberBytes: shortBytes - 1}})
	must.Do(f, err)
	f.Fuzz(func(t *testing.T, record []byte) {
		before := bytes.Clone(record)
		feature, err := tr.Decode(record)
		if other, problem := careful.Decode(record); !hasLongNumber(problem) {
			switch {
			case (err == nil) != (problem == nil), err != nil && err.Error() != problem.Error():
				t.Fatalf("quickly %v, carefully %v", err, problem)
			case err == nil && !bytes.Equal(Canonical(feature), Canonical(other)):
				t.Fatalf("quickly %s, carefully %s", Canonical(feature), Canonical(other))
			}
		}
		must.That(t, bytes.Equal(before, record), "the record was modified")
		if err != nil {
			checkError(t, err, len(record))
			return
		}
		checkRoundTrip(t, tr, record)
		_, _ = feature.BBoxString(), feature.IDString()
	})
}

// hasLongNumber reports whether only the careful one's limit is at fault.
func hasLongNumber(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Rule == string(RuleNumberBytes)
}

// checkError checks what every error has.
func checkError(t *testing.T, err error, size int) {
	t.Helper()
	var e *Error
	must.That(t, errors.As(err, &e), "%T is no *Error: %v", err, err)
	must.That(t, e.Code != "" && e.Stage != "" && e.Rule != "" && e.Message != "" && e.Fix != "", "%+v leaves something out", e)
	must.That(t, e.Offset >= 0 && e.Offset <= int64(size) && len([]rune(e.Value)) <= maxValueChars, "offset %d of %d, value %q", e.Offset, size, e.Value)
}

// FuzzApply: what passes a mapping passes every gate a second time, and its
// text decodes.
func FuzzApply(f *testing.F) {
	seed(f)
	decimals := 3
	tr, err := New(Config{
		Fields: []Field{
			{From: "owner.name", To: "owner", OnError: OnErrorNull},
			{From: "mag", To: "magnitude", Type: TypeNumber, NullValues: []any{"", -9999}, OnError: OnErrorDefault, Default: 0},
		},
		Constants: map[string]any{"constant": 1},
		Flatten:   &Flatten{Arrays: ArraysIndex},
		Geometry:  GeometryRules{Validity: ValidityFlag, RoundDecimals: &decimals},
	})
	must.Do(f, err)
	f.Fuzz(func(t *testing.T, record []byte) {
		source, err := tr.Decode(record)
		if err != nil {
			return
		}
		hash := Canonical(source)
		out, err := tr.Apply(t.Context(), record)
		if err != nil {
			checkError(t, err, len(record))
			return
		}
		text := must.Get(tr.Encode(out))(t)
		again := must.Get(tr.Decode(text))(t)
		must.Do(t, tr.checkRange(again, tr.systems.source, again.Geometry))
		must.That(t, !needsWinding(again.Geometry.Shape), "%s became %s, wound wrong", record, text)
		must.That(t, bytes.Equal(hash, Canonical(source)), "%s: mapping changed its source", record)
	})
}

// FuzzCanonical: features with one canonical form have one text in canonical
// order, and the form does not depend on how numbers are written.
func FuzzCanonical(f *testing.F) {
	for _, literal := range []string{"0", "-0", "1.50", "1e3", "9007199254740993", "1e-400", "123e-2", "-1E+2"} {
		f.Add(literal)
	}
	f.Fuzz(func(t *testing.T, literal string) {
		v, err := ParseValue([]byte(literal))
		if err != nil || v.Kind() != KindNumber {
			return
		}
		form := appendDecimal(nil, v.Text())
		again := must.Get(ParseValue(form))(t)
		twice := appendDecimal(nil, again.Text())
		must.That(t, bytes.Equal(form, twice), "%s has the form %s, and that %s", literal, form, twice)
		a, okA := parseInteger(v.Text())
		b, okB := parseInteger(string(form))
		must.That(t, a == b && okA == okB, "%s is %d, %v; its form %s is %d, %v", literal, a, okA, form, b, okB)
	})
}

// FuzzPolicies: what the gates repair and cut, and what rounding makes of it, is
// valid, within the range of its system, and stays as it is when it comes again.
func FuzzPolicies(f *testing.F) {
	seed(f)
	f.Add([]byte(feature(bowTie)))
	f.Add([]byte(feature(`{"type":"Polygon","coordinates":[[[170,0],[-170,0],[-170,10],[170,10],[170,0]]]}`)))
	f.Add([]byte(feature(`{"type":"Polygon","coordinates":[[[8,47],[8.1,47],[8.1,47.1],[8.05,47.004],[8,47.1],[8,47]]]}`)))
	f.Add([]byte(feature(`{"type":"Polygon","coordinates":[[[0,80],[120,80],[-120,80],[0,80]],[[0,85],[1,86],[2,85],[0,85]]]}`)))
	rules := GeometryRules{Validity: ValidityRepair, Antimeridian: AntimeridianCut, BBox: BBoxCompute, Simplicity: AcceptWithFlag}
	two := 2
	exactly, rounded := mustNew(f, Config{Geometry: rules}), mustNew(f, Config{Geometry: roundedTo(rules, &two)})
	f.Fuzz(func(t *testing.T, record []byte) {
		for _, tr := range []*Transformer{exactly, rounded} {
			checkPolicies(t, tr, record)
		}
	})
}

func checkPolicies(t *testing.T, tr *Transformer, record []byte) {
	t.Helper()
	out, err := tr.Apply(t.Context(), record)
	if err != nil {
		checkError(t, err, len(record))
		return
	}
	v, err := violationOf(t.Context(), out.Geometry.Shape, "/geometry")
	must.That(t, v == nil && err == nil, "%s became invalid: %v, %v", record, v, err)
	must.That(t, !repair.Crosses(out.Geometry.Shape), "%s still crosses the meridian", record)
	text := must.Get(tr.Encode(out))(t)
	again := must.Get(tr.Apply(t.Context(), text))(t)
	must.That(t, bytes.Equal(appendShape(nil, again.Geometry.Shape), appendShape(nil, out.Geometry.Shape)), "%s became %s and then another geometry", record, text)
}
