package avro_test

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/linkedin/goavro/v2"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/envelope/avro"
	"github.com/switchback-geo/switchback/pkg/transform"
)

func TestDecodeRefuses(t *testing.T) {
	const (
		longs = `{"type":"array","items":"long"}`
		point = `{"type":"record","name":"P","fields":[{"name":"x","type":"double"},{"name":"tag","type":{"type":"map","values":"string"}}]}`
	)
	for _, c := range []struct {
		name, schema, data string
		code               classify.Code
		rule, path, says   string
	}{
		{"nothing", `"long"`, "", classify.CodeAvroDecode, "truncated", "", "too early"},
		{"number_of_eleven_bytes", `"long"`, "ffffffffffffffffffff01", classify.CodeAvroDecode, "long_range", "", "64 bits"},
		{"int_of_33_bits", `"int"`, "8080808010", classify.CodeAvroDecode, "int_range", "", "32 bits"},
		{"boolean_2", `"boolean"`, "02", classify.CodeAvroDecode, "boolean", "", "neither 0 nor 1"},
		{"trailing_data", `"long"`, "0202", classify.CodeAvroDecode, "trailing_data", "", "1 bytes follow"},
		{"NaN", `"double"`, "000000000000f87f", classify.CodeAvroDecode, "not_finite", "", "write null"},
		{"infinite_float", `"float"`, "0000807f", classify.CodeAvroDecode, "not_finite", "", ""},
		{"length_beyond_the_end", point, "0000000000000000" + "02" + "04" + "61", classify.CodeAvroDecode, "length", "/tag", "1 bytes are left"},
		{"negative_length", `"string"`, "01", classify.CodeAvroDecode, "length", "", "-1"},
		{"not_UTF-8", `"string"`, "02ff", classify.CodeInvalidUTF8, "utf8", "", ""},
		{"key_twice", point, "0000000000000000" + "04" + "0261" + "0262" + "0261" + "0263" + "00", classify.CodeDuplicateKey, "duplicate_key", "/tag", ""},
		{"no_such_branch", `["null","long"]`, "04", classify.CodeAvroDecode, "index", "", "no branch 2"},
		{"no_such_symbol", `{"type":"enum","name":"E","symbols":["A"]}`, "02", classify.CodeAvroDecode, "index", "", "no symbol 1"},
		{"count_of_2^61", longs, "feffffffffffffff3f", classify.CodeAvroDecode, "truncated", "/0", ""},
		{"count_without_opposite", longs, "ffffffffffffffffff01", classify.CodeAvroDecode, "count", "", ""},
		{"nulls_without_end", `{"type":"array","items":"null"}`, "feffffffffffffff3f", classify.CodeLimitExceeded, "memory", "", "64 times"},
		{"empty_records_without_end", `{"type":"array","items":{"type":"record","name":"N","fields":[]}}`, "feffffffffffffff3f", classify.CodeLimitExceeded, "memory", "", ""},
		{"record_that_holds_itself", `{"type":"record","name":"L","fields":[{"name":"n","type":["null","L"]}]}`, strings.Repeat("02", 200), classify.CodeTooDeep, "max_depth", "", "64 levels"},
		{"record_that_never_ends", `{"type":"record","name":"L","fields":[{"name":"n","type":"L"}]}`, "", classify.CodeTooDeep, "max_depth", "", ""},
		{"year_292278994", `{"type":"long","logicalType":"timestamp-millis"}`, "feffffffffffffffff01", classify.CodeAvroDecode, "time_range", "", "RFC 3339"},
		{"25_o'clock", `{"type":"int","logicalType":"time-millis"}`, "80f8ec55", classify.CodeAvroDecode, "time_range", "", "24 hours"},
	} {
		t.Run(c.name, func(t *testing.T) {
			value, err := parse(t, c.schema).Decode(unhex(t, c.data), avro.Limits{})
			var e *avro.DecodeError
			must.That(t, errors.As(err, &e), "got %s, %v", value.AppendJSON(nil), err)
			expect.That(t, e.Code == c.code && e.Rule == c.rule && strings.HasPrefix(e.Path, c.path) && strings.Contains(e.Error(), c.says), "got %s, %s at %q: %v", e.Code, e.Rule, e.Path, e)
			f := classify.Of(err)
			expect.That(t, f.Code == c.code && f.Class == classify.Row && f.Stage == classify.StageDecode, "classified as %+v", f)
		})
	}
}

// Logical types that do not fit their type are ignored (specification, section Logical Types).
func TestLogicalTypes_that_do_not_fit(t *testing.T) {
	for schema, c := range map[string]struct{ data, want string }{
		`{"type":"string","logicalType":"date"}`:                                                {"0261", `"a"`},
		`{"type":"bytes","logicalType":"decimal"}`:                                              {"0205", `"BQ=="`},
		`{"type":"bytes","logicalType":"decimal","precision":2,"scale":3}`:                      {"0205", `"BQ=="`},
		`{"type":"bytes","logicalType":"decimal","precision":4,"scale":2}`:                      {"0205", `"0.05"`},
		`{"type":"bytes","logicalType":"decimal","precision":4}`:                                {"0485ff", `"-31233"`},
		`{"type":"long","logicalType":"timestamp-nanos"}`:                                       {"01", `"1969-12-31T23:59:59.999999999Z"`},
		`{"type":"long","logicalType":"local-timestamp-micros"}`:                                {"02", `"1970-01-01T00:00:00.000001"`},
		`{"type":"fixed","name":"D","size":12,"logicalType":"duration"}`:                        {"01000000" + "02000000" + "bc0b0000", `"P1M2DT3.004S"`},
		`{"type":"fixed","name":"U","size":16,"logicalType":"uuid"}`:                            {"f81d4fae7dec11d0a76500a0c91e6bf6", `"f81d4fae-7dec-11d0-a765-00a0c91e6bf6"`},
		`{"type":"fixed","name":"U","size":2,"logicalType":"uuid"}`:                             {"f81d", `"+B0="`},
		`{"type":{"type":"array","items":{"type":{"type":"enum","name":"E","symbols":["A"]}}}}`: {"020000", `["A"]`},
	} {
		value, err := parse(t, schema).Decode(unhex(t, c.data), avro.Limits{})
		expect.That(t, err == nil && string(value.AppendJSON(nil)) == c.want, "%s: got %s, %v", schema, value.AppendJSON(nil), err)
	}
}

func TestParseRefuses(t *testing.T) {
	for schema, says := range map[string]string{
		``: "ends",
		`{"type":"record","name":"A","fields":[{"name":"a","type":"B"}]}`:                             `"B" is not defined before it is used at /fields/0/type`,
		`{"type":"record","name":"A"}`:                                                                "no fields",
		`{"type":"record","name":"A","fields":[{"name":"a"}]}`:                                        "no type at /fields/0",
		`{"type":"record","name":"A","fields":[{"name":"a","type":"int"},{"name":"a","type":"int"}]}`: "occurs twice",
		`{"type":"record","name":"1A","fields":[]}`:                                                   "not the name of a type",
		`{"type":"enum","name":"E","symbols":[]}`:                                                     "no symbols",
		`{"type":"enum","name":"E","symbols":["A","A"]}`:                                              "occurs twice",
		`{"type":"fixed","name":"F","size":-1}`:                                                       "size",
		`{"type":"array"}`:                                                                            "no items",
		`{"type":"map"}`:                                                                              "no values",
		`{"type":3}`:                                                                                  "no type",
		`["int","int"]`:                                                                               "no type twice",
		`["null",["int"]]`:                                                                            "no union",
		`5`:                                                                                           "a type cannot be a number",
		`[{"type":"fixed","name":"F","size":1},{"type":"fixed","name":"F","size":2}]`:      "defined twice",
		strings.Repeat(`{"type":"array","items":`, 40) + `"int"` + strings.Repeat("}", 40): "",
	} {
		_, err := avro.Parse(schema)
		var e *avro.SchemaError
		if says == "" {
			expect.That(t, err == nil, "%s: %v", schema, err)
			continue
		}
		expect.That(t, errors.As(err, &e) && strings.Contains(err.Error(), says), "%s: got %v", schema, err)
	}
}

// A schema may use the named types of other schemas.
func TestReferences(t *testing.T) {
	const point = `{"type":"record","name":"geo.Point","fields":[{"name":"x","type":"double"}]}`
	s := must.Get(avro.Parse(`{"type":"record","name":"geo.Event","fields":[{"name":"at","type":"Point"},{"name":"to","type":["null","geo.Point"]}]}`, point))(t)
	const want = `{"name":"geo.Event","type":"record","fields":[{"name":"at","type":{"name":"geo.Point","type":"record","fields":[{"name":"x","type":"double"}]}},` +
		`{"name":"to","type":["null","geo.Point"]}]}`
	expect.That(t, s.Canonical() == want && s.Name() == "geo.Event", "%s is %s", s.Name(), s.Canonical())
	_, err := avro.Parse(`"geo.Point"`, point, point)
	expect.That(t, err != nil, "a type that is defined twice passed")
}

type vector struct {
	Name, Schema, Canonical, Fingerprint, Data string
	JSON                                       string `json:"json"`
}

// vectors returns schemas and data as fastavro writes them (testdata/vectors.py).
func vectors(t testing.TB) []vector {
	t.Helper()
	var file struct{ Vectors []vector }
	read(t, "testdata/vectors.json", &file)
	must.That(t, len(file.Vectors) >= 7, "only %d vectors", len(file.Vectors))
	return file.Vectors
}

func read(t testing.TB, name string, into any) {
	t.Helper()
	text := must.Get(os.ReadFile(name))(t)
	must.Do(t, json.Unmarshal(text, into))
}

func unhex(t testing.TB, text string) []byte {
	t.Helper()
	return must.Get(hex.DecodeString(text))(t)
}

func parse(t testing.TB, text string) *avro.Schema {
	t.Helper()
	return must.Get(avro.Parse(text))(t)
}

// The canonical form, the fingerprint and the data agree with fastavro.
func TestVectors(t *testing.T) {
	for _, v := range vectors(t) {
		t.Run(v.Name, func(t *testing.T) {
			s := parse(t, v.Schema)
			expect.Equal(t, s.Canonical(), v.Canonical, "canonical form")
			expect.Equal(t, s.Fingerprint().String(), v.Fingerprint, "fingerprint")
			value := must.Get(s.Decode(unhex(t, v.Data), avro.Limits{}))(t)
			expect.Equal(t, string(value.AppendJSON(nil)), v.JSON, "data")
			// The form cannot express "no namespace", so a bare name inside of a namespace means another type. This is a
			// gap in the specification that every implementation shares.
			bare := strings.Contains(v.Canonical, `"Bare"`)
			again := parse(t, s.Canonical())
			expect.That(t, bare || again.Canonical() == s.Canonical(), "the canonical form of the canonical form is %s", again.Canonical())
		})
	}
}

// The header that twmb/avro writes (testdata/twmb) names the same schema.
func TestFingerprint_of_another_implementation(t *testing.T) {
	var objects map[string]string
	read(t, "testdata/single_objects.json", &objects)
	for _, v := range vectors(t) {
		object := unhex(t, objects[v.Name])
		fingerprint := parse(t, v.Schema).Fingerprint()
		want := "c301" + fingerprint.String()
		expect.That(t, hex.EncodeToString(object[:10]) == want, "%s: twmb begins with %x, want %s", v.Name, object[:10], want)
	}
}

// The fingerprint ignores the logical type. goavro and twmb differ for this schema.
func TestFingerprint_with_a_logical_type(t *testing.T) {
	with := parse(t, `{"type":"record","name":"Event","namespace":"geo","fields":[{"name":"at","type":{"type":"long","logicalType":"timestamp-millis"}}]}`)
	without := parse(t, `{"type":"record","name":"geo.Event","fields":[{"name":"at","type":"long"}]}`)
	expect.That(t, with.Fingerprint() == without.Fingerprint(), "%s and %s", with.Fingerprint(), without.Fingerprint())
}

// The result is an error with its place, or a value that is the same after goavro has read and written it. Decode never
// panics.
func FuzzDecode(f *testing.F) {
	type compiled struct {
		schema *avro.Schema
		codec  *goavro.Codec
	}
	var all []compiled
	for i, v := range vectors(f) {
		s := parse(f, v.Schema)
		codec := must.Get(goavro.NewCodec(s.Canonical()))(f)
		all = append(all, compiled{s, codec})
		f.Add(i, unhex(f, v.Data))
	}
	f.Fuzz(func(t *testing.T, i int, data []byte) {
		if i < 0 || i >= len(all) {
			return
		}
		value, err := all[i].schema.Decode(data, avro.Limits{})
		if err != nil {
			var e *avro.DecodeError
			must.That(t, errors.As(err, &e) && e.Code != "" && e.Rule != "" && e.Message != "" && e.Fix != "" && e.Offset <= len(data), "%#v leaves something out", err)
			return
		}
		native, rest, err := all[i].codec.NativeFromBinary(data)
		must.That(t, err == nil && len(rest) == 0, "goavro: %v, %d bytes left, and here %s", err, len(rest), value.AppendJSON(nil))
		again := must.Get(all[i].schema.Encode(nil, native))(t)
		second, err := all[i].schema.Decode(again, avro.Limits{})
		must.That(t, err == nil && sameJSON(t, value, second), "%s became %s, %v", value.AppendJSON(nil), second.AppendJSON(nil), err)
	})
}

// sameJSON compares values. goavro writes the keys of a map in any order.
func sameJSON(t *testing.T, a, b transform.Value) bool {
	t.Helper()
	var x, y any
	for v, into := range map[*transform.Value]*any{&a: &x, &b: &y} {
		decoder := json.NewDecoder(strings.NewReader(string(v.AppendJSON(nil))))
		decoder.UseNumber()
		must.Do(t, decoder.Decode(into))
	}
	return reflect.DeepEqual(x, y)
}

// The result is an error, or a schema with one canonical form, which is JSON without white space.
func FuzzParse(f *testing.F) {
	for _, v := range vectors(f) {
		f.Add(v.Schema)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := avro.Parse(text)
		if err != nil {
			return
		}
		again, err := avro.Parse(text)
		must.That(t, err == nil && again.Canonical() == s.Canonical() && again.Fingerprint() == s.Fingerprint(), "%s became %s and %v", text, s.Canonical(), err)
		form, err := transform.ParseValue([]byte(s.Canonical()))
		must.That(t, err == nil && string(form.AppendJSON(nil)) == s.Canonical(), "%s became %s: %v", text, s.Canonical(), err)
	})
}

// Many small values pass. They are refused if each would take far more memory than its bytes.
func TestDecode_is_limited_by_its_input(t *testing.T) {
	const n = 100_000
	count := string([]byte{n<<1&0x7f | 0x80, n>>6&0x7f | 0x80, n >> 13})
	for _, c := range []struct {
		items, item string
		passes      bool
	}{
		{`"long"`, "\x02", true},
		{`["null","int"]`, "\x02\x7e", true},
		{`{"type":"array","items":"double"}`, "\x04" + strings.Repeat("\x00", 17), true},
		{`{"type":"record","name":"R","fields":[{"name":"a","type":"boolean"}]}`, "\x01", false},
		{`{"type":"array","items":"null"}`, "\x00", false},
	} {
		_, err := parse(t, `{"type":"array","items":`+c.items+`}`).Decode([]byte(count+strings.Repeat(c.item, n)+"\x00"), avro.Limits{})
		expect.That(t, (err == nil) == c.passes, "%s: %v", c.items, err)
	}
}

func ExampleSchema_Decode() {
	schema, err := avro.Parse(`{"type": "record", "name": "Parcel", "namespace": "geo", "fields": [
		{"name": "area", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
		{"name": "owner", "type": ["null", "string"]},
		{"name": "id", "type": "long"}]}`)
	if err != nil {
		fmt.Println(err)
		return
	}
	data, err := schema.Encode(nil, map[string]any{"area": []byte{0x04, 0xe2}, "owner": map[string]any{"string": "Keller"}, "id": int64(9007199254740993)})
	if err != nil {
		fmt.Println(err)
		return
	}
	value, err := schema.Decode(data, avro.Limits{})
	fmt.Println(string(value.AppendJSON(nil)), err)
	// Output:
	// {"area":"12.50","owner":"Keller","id":9007199254740993} <nil>
}

func ExampleSchema_Fingerprint() {
	schema, err := avro.Parse(`{"type": "long", "logicalType": "timestamp-millis"}`)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(schema.Canonical(), schema.Fingerprint())
	// Output:
	// "long" b71df49344e154d0
}
