package transform

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// carefully decodes token by token.
func carefully(tr *Transformer, record []byte) (f *Feature, err error) {
	err = tr.read(record, func(d *decoder) (err error) {
		d.tokens()
		f, err = d.decode()
		return err
	})
	return f, err
}

// isQuick reports whether the quick way takes a record.
func isQuick(t *testing.T, tr *Transformer, record []byte) (quick bool) {
	t.Helper()
	must.Do(t, tr.read(record, func(d *decoder) error { quick = d.quick() != nil; return nil }))
	return quick
}

// checkQuick holds what Decode says of a record against the careful decoder: the
// same feature to the last digit, or the same error in every field.
func checkQuick(t *testing.T, tr *Transformer, record []byte) {
	t.Helper()
	got, problem := tr.Decode(record)
	want, refusal := carefully(tr, record)
	must.That(t, (problem == nil) == (refusal == nil), "%q: Decode says %v, the careful decoder %v", record, problem, refusal)
	if refusal != nil {
		one, other := *asError(t, problem), *asError(t, refusal)
		causes := fmt.Sprint(one.Err) == fmt.Sprint(other.Err)
		must.That(t, causes, "%q: Decode has the cause %v, the careful decoder %v", record, one.Err, other.Err)
		if one.Err, other.Err = nil, nil; one != other {
			t.Fatalf("%q: Decode says %+v, the careful decoder %+v", record, one, other)
		}
		return
	}
	must.That(t, bytes.Equal(appendGeometry(nil, got.Geometry), appendGeometry(nil, want.Geometry)) && (got.Geometry.Z == nil) == (want.Geometry.Z == nil),
		"%q: geometry %v, want %v", record, got.Geometry, want.Geometry)
	got.Geometry, want.Geometry = Geometry{}, Geometry{} // NaN is not equal to itself
	must.That(t, reflect.DeepEqual(got, want), "%q: %+v, want %+v", record, got, want)
}

// quickLimits are limits that ordinary records meet.
func quickLimits() []Limits {
	return []Limits{{}, {MaxDepth: 5}, {MaxDepth: 6, MaxPositions: 4}, {MaxLiteralBytes: 100}, {MaxNumberBytes: 100, MaxRings: 1}, {MaxDepth: 500, MaxBytes: 400}}
}

func quickTransformers(tb testing.TB) (out []*Transformer) {
	tb.Helper()
	for _, limits := range quickLimits() {
		out = append(out, mustNew(tb, Config{Limits: limits}))
	}
	return out
}

// with makes a record whose properties hold a value.
func with(value string) string {
	return `{"type":"Feature","id":7,"geometry":{"type":"Point","coordinates":[1,2.50]},"properties":{"a":` + value + `}}`
}

// TestQuick_S0_8_takes says which records are read in one pass: without it, a
// comparison of both ways could compare nothing.
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

// TestQuick_S0_8_agrees changes bytes of good records at random: every record is
// judged as the careful decoder judges it, in any order of records.
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
	expect.That(t, taken >= turns/50, "only %d of %d records decode: the comparison is about refusals alone", taken, turns)
}

// mutated changes a record in up to four places: another byte, one that JSON means
// something by, a piece less, a piece twice, a piece of another record.
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
