package transform

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/geometry/repair"
	"github.com/switchback-geo/switchback/pkg/internal/shorten"
	"github.com/switchback-geo/switchback/pkg/transform/internal/numbers"
	"github.com/switchback-geo/switchback/pkg/transform/internal/shapes"
)

// carefully decodes a record token by token.
func carefully(tr *Transformer, record []byte) (f *Feature, err error) {
	err = tr.read(record, func(d *decoder) (err error) {
		d.tokens()
		f, err = d.decode()
		return err
	})
	return f, err
}

// isQuick reports whether a record is decoded the quick way.
func isQuick(t *testing.T, tr *Transformer, record []byte) (quick bool) {
	t.Helper()
	must.Do(t, tr.read(record, func(d *decoder) error { quick = d.quick() != nil; return nil }))
	return quick
}

// checkQuick compares Decode with the careful decoder: both must return the same feature to the last digit, or the same
// error in every field.
func checkQuick(t *testing.T, tr *Transformer, record []byte) {
	t.Helper()
	got, problem := tr.Decode(record)
	want, refusal := carefully(tr, record)
	must.That(t, (problem == nil) == (refusal == nil), "%q: Decode returns %v, the careful decoder %v", record, problem, refusal)
	if refusal != nil {
		one, other := *asError(t, problem), *asError(t, refusal)
		causes := fmt.Sprint(one.Err) == fmt.Sprint(other.Err)
		must.That(t, causes, "%q: Decode has the cause %v, the careful decoder %v", record, one.Err, other.Err)
		if one.Err, other.Err = nil, nil; one != other {
			t.Fatalf("%q: Decode returns %+v, the careful decoder %+v", record, one, other)
		}
		return
	}
	must.That(t, bytes.Equal(shapes.AppendCanonical(nil, got.Geometry.Shape, got.Geometry.Z), shapes.AppendCanonical(nil, want.Geometry.Shape, want.Geometry.Z)) && (got.Geometry.Z == nil) == (want.Geometry.Z == nil), "%q: geometry %v, want %v", record, got.Geometry, want.Geometry)
	got.Geometry, want.Geometry = Geometry{}, Geometry{} // NaN is not equal to itself
	must.That(t, reflect.DeepEqual(got, want), "%q: %+v, want %+v", record, got, want)
}

// quickTransformers returns transformers with limits that ordinary records reach.
func quickTransformers(tb testing.TB) (out []*Transformer) {
	tb.Helper()
	for _, limits := range []Limits{{}, {MaxDepth: 5}, {MaxDepth: 6, MaxPositions: 4}, {MaxLiteralBytes: 100}, {MaxNumberBytes: 100, MaxRings: 1}, {MaxDepth: 500, MaxBytes: 400}} {
		out = append(out, mustNew(tb, Config{Limits: limits}))
	}
	return out
}

// with returns a record whose properties have a value.
func with(value string) string {
	return `{"type":"Feature","id":7,"geometry":{"type":"Point","coordinates":[1,2.50]},"properties":{"a":` + value + `}}`
}

// Records of the common shape are decoded the quick way. Otherwise the comparison of both ways could compare nothing.
func TestQuick_S0_8_takes(t *testing.T) {
	tr := mustNew(t, Config{})
	deep := strings.Repeat("[", quickDepth-2) + strings.Repeat("]", quickDepth-2)
	for _, c := range []struct {
		name, record string
		quick        bool
	}{
		{"polygon", string(polygonFeature()), true},
		{"spaces", " {\r\n\t\"type\" : \"Feature\" , \"geometry\" : { \"coordinates\" : [ 1 , 2 , 3 ] , \"type\" : \"Point\" } , \"properties\" : { } } \n", true},
		{"bbox", `{"type":"Feature","bbox":[1,2,3.5,-4],"geometry":{"type":"Point","coordinates":[1,2]},"properties":{}}`, true},
		{"bbox_of_five", `{"type":"Feature","bbox":[1,2,3,4,5],"geometry":{"type":"Point","coordinates":[1,2]},"properties":{}}`, false},
		{"escapes", with(`"\u00e4\n\ud83d\ude00\/"`), true},
		{"lone_surrogate", with(`"\ud83d"`), false},
		{"UTF-8", with(`"Zürich 😀 ` + "\x7f" + `"`), true},
		{"not_UTF-8", with("\"Z\xfcrich\""), false},
		{"control_byte", with("\"a\tb\""), false},
		{"digits", with("9007199254740993.00"), true},
		{"exponent", with("1e3"), false},
		{"leading_zero", with("01"), false},
		{"no_digit_after_the_point", with("1."), false},
		{"minus", with("-"), false},
		{"words", with("[true,false,null]"), true},
		{"word_too_long", with("truex"), false},
		{"name_twice", with(`1,"a":2`), false},
		{"name_twice_by_an_escape", with(`1,"\u0061":2`), false},
		{"name_twice_in_two_objects", with(`{"a":{"a":2},"b":[{"a":3}]},"b":1`), true},
		{"names", with(`{"` + strings.Join(strings.Split(strings.Repeat("x", quickMembers), ""), `":0,"x`) + `":0}`), false},
		{"trailing_comma", with(`[1,]`), false},
		{"leading_comma", with(`[,1]`), false},
		{"no_comma", with(`[1 2]`), false},
		{"trailing_data", with("1") + "}", false},
		{"zero_byte", with("1") + "\x00", false},
		{"deep", with(deep), true},
		{"deeper", with("[" + deep + "]"), false},
		{"foreign_member", `{"x":1,` + with("1")[1:], false},
		{"no_properties", `{"type":"Feature","geometry":{"type":"Point","coordinates":[1,2]}}`, false},
		{"null_geometry", `{"type":"Feature","geometry":null,"properties":{}}`, false},
		{"null_id", `{"type":"Feature","id":null,"geometry":{"type":"Point","coordinates":[1,2]},"properties":{}}`, false},
		{"other_case", `{"Type":"Feature","geometry":{"type":"Point","coordinates":[1,2]},"properties":{}}`, false},
		{"collection", `{"type":"Feature","geometry":{"type":"GeometryCollection","geometries":[]},"properties":{}}`, false},
		{"ring_not_closed", `{"type":"Feature","geometry":{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,1]]]},"properties":{}}`, false},
	} {
		expect.Equal(t, isQuick(t, tr, []byte(c.record)), c.quick, c.name, "quick")
		for _, tr := range quickTransformers(t) {
			checkQuick(t, tr, []byte(c.record))
		}
	}
}

// The quick and the careful way agree on good records with random changes, in any order of records.
func TestQuick_S0_8_agrees(t *testing.T) {
	transformers, random := quickTransformers(t), rand.New(rand.NewPCG(17, 1))
	seeds := [][]byte{polygonFeature(), []byte(with(`{"b":[1,"x",null,{"c":-0.0}],"ü\n":"\u00e4"}`))}
	names, err := filepath.Glob("testdata/accepted/*.json")
	must.That(t, err == nil && len(names) != 0, "no examples (%v)", err)
	for _, name := range names {
		text := must.Get(os.ReadFile(name))(t)
		seeds = append(seeds, text)
	}
	taken := 0
	const turns = 30_000
	for turn := range turns {
		record := mutated(random, seeds[turn%len(seeds)], seeds[random.IntN(len(seeds))])
		tr := transformers[random.IntN(len(transformers))]
		checkQuick(t, tr, record)
		if _, err := tr.Decode(record); err == nil {
			taken++
		}
	}
	t.Logf("%d of %d records decode", taken, turns)
	expect.That(t, taken >= turns/50, "only %d of %d records decode: the comparison covers refusals only", taken, turns)
}

// mutated changes a record in up to four places: it changes a byte, inserts a byte with a meaning in JSON, removes or
// doubles a piece, or inserts a piece of another record.
func mutated(random *rand.Rand, record, other []byte) []byte {
	out := bytes.Clone(record)
	for range 1 + random.IntN(4) {
		from := random.IntN(len(out))
		to := min(len(out), from+random.IntN(9))
		piece := bytes.Clone(out[from:to])
		switch random.IntN(6) {
		case 0:
			out[from] = byte(random.Uint32())
		case 1:
			out[from] = `{}[]",:\0123456789.-+eEtfnu `[random.IntN(28)]
		case 2:
			out = append(out[:from], out[to:]...)
		case 3:
			out = append(out[:to], append(piece, out[to:]...)...)
		case 4:
			i := random.IntN(len(other))
			out = append(out[:from], append(bytes.Clone(other[i:min(len(other), i+12)]), out[from:]...)...)
		default:
			out = append(out[:from], append([]byte{" \t\n\r"[random.IntN(4)]}, out[from:]...)...)
		}
		if len(out) == 0 {
			return []byte("{")
		}
	}
	return out
}

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

// The result is an error with its place, or a feature whose text is stable and whose content survives. The quick and the
// careful way agree on both.
func FuzzDecode(f *testing.F) {
	seed(f)
	tr := must.Get(New(Config{}))(f)
	careful := must.Get(New(Config{Limits: Limits{MaxNumberBytes: numbers.ShortBytes - 1}}))(f)
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

// hasLongNumber reports whether only the limit of the careful way is exceeded.
func hasLongNumber(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Rule == string(RuleNumberBytes)
}

// checkError checks the fields that every error has.
func checkError(t *testing.T, err error, size int) {
	t.Helper()
	var e *Error
	must.That(t, errors.As(err, &e), "%T is no *Error: %v", err, err)
	must.That(t, e.Code != "" && e.Stage != "" && e.Rule != "" && e.Message != "" && e.Fix != "", "%+v leaves something out", e)
	must.That(t, e.Offset >= 0 && e.Offset <= int64(size) && len([]rune(e.Value)) <= shorten.MaxCharacters, "offset %d of %d, value %q", e.Offset, size, e.Value)
}

// A record that passes a mapping passes every gate again, and its text decodes.
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
		must.Do(t, checkDegrees(again, again.Geometry))
		must.That(t, !shapes.NeedsWinding(again.Geometry.Shape), "%s became %s, wound wrong", record, text)
		must.That(t, bytes.Equal(hash, Canonical(source)), "%s: mapping changed its source", record)
	})
}

// Features with the same canonical form have the same text in canonical order. The form does not depend on how numbers
// are written.
func FuzzCanonical(f *testing.F) {
	for _, literal := range []string{"0", "-0", "1.50", "1e3", "9007199254740993", "1e-400", "123e-2", "-1E+2"} {
		f.Add(literal)
	}
	f.Fuzz(func(t *testing.T, literal string) {
		v, err := ParseValue([]byte(literal))
		if err != nil || v.Kind() != KindNumber {
			return
		}
		form := numbers.AppendCanonical(nil, v.Text())
		again := must.Get(ParseValue(form))(t)
		twice := numbers.AppendCanonical(nil, again.Text())
		must.That(t, bytes.Equal(form, twice), "%s has the form %s, and that %s", literal, form, twice)
		a, okA := numbers.Integer(v.Text())
		b, okB := numbers.Integer(string(form))
		must.That(t, a == b && okA == okB, "%s is %d, %v; its form %s is %d, %v", literal, a, okA, form, b, okB)
	})
}

// A repaired, cut and rounded geometry is valid, within the range of its system, and stays the same if it is applied
// again.
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
	v, err := violationOf(t.Context(), out.Geometry.Shape)
	must.That(t, v == nil && err == nil, "%s became invalid: %v, %v", record, v, err)
	must.That(t, !repair.Crosses(out.Geometry.Shape), "%s still crosses the meridian", record)
	text := must.Get(tr.Encode(out))(t)
	again := must.Get(tr.Apply(t.Context(), text))(t)
	must.That(t, bytes.Equal(shapes.AppendCanonical(nil, again.Geometry.Shape, nil), shapes.AppendCanonical(nil, out.Geometry.Shape, nil)), "%s became %s and then another geometry", record, text)
}
