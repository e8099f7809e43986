package avro_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/linkedin/goavro/v2"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/envelope/avro"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// FuzzDecode: an error with its place, or a value that is the same again after
// goavro has read and written it. Never a panic.
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

// sameJSON compares values; goavro writes the keys of a map in any order.
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

// FuzzParse: an error, or a schema with one canonical form, which is JSON
// without white space.
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

// TestDecode_is_limited_by_its_input: many small values pass, and are refused where each would take far more memory than its bytes.
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
	data, err := schema.Encode(nil, map[string]any{
		"area": []byte{0x04, 0xe2}, "owner": map[string]any{"string": "Keller"}, "id": int64(9007199254740993),
	})
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
