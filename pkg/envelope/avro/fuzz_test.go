package avro_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/linkedin/goavro/v2"

	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/envelope/avro"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// FuzzDecode: an error with its place, or a value that is the same again after
// goavro has read and written it. Never a panic, never more memory than 64
// times the data and the quarter of a MiB that is always allowed.
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
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		value, err := all[i].schema.Decode(data, avro.Limits{})
		runtime.ReadMemStats(&after)
		if took, most := after.TotalAlloc-before.TotalAlloc, uint64(64*len(data)+(512<<10)); took > most {
			t.Fatalf("%d bytes took %d bytes of memory", len(data), took)
		}
		if err != nil {
			var e *avro.DecodeError
			if !errors.As(err, &e) || e.Code == "" || e.Rule == "" || e.Message == "" || e.Fix == "" || e.Offset > len(data) {
				t.Fatalf("%#v leaves something out", err)
			}
			return
		}
		native, rest, err := all[i].codec.NativeFromBinary(data)
		if err != nil || len(rest) > 0 {
			t.Fatalf("goavro: %v, %d bytes left, and here %s", err, len(rest), value.AppendJSON(nil))
		}
		again := must.Get(all[i].schema.Encode(nil, native))(t)
		second, err := all[i].schema.Decode(again, avro.Limits{})
		if err != nil || !sameJSON(t, value, second) {
			t.Fatalf("%s became %s, %v", value.AppendJSON(nil), second.AppendJSON(nil), err)
		}
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
		if err != nil || again.Canonical() != s.Canonical() || again.Fingerprint() != s.Fingerprint() {
			t.Fatalf("%s became %s and %v", text, s.Canonical(), err)
		}
		form, err := transform.ParseValue([]byte(s.Canonical()))
		if err != nil || string(form.AppendJSON(nil)) != s.Canonical() {
			t.Fatalf("%s became %s: %v", text, s.Canonical(), err)
		}
	})
}

// TestMemory: many small values stay within the bound, or are refused by it.
func TestMemory(t *testing.T) {
	block := func(items int, item string) []byte {
		count := []byte{byte(items<<1)&0x7f | 0x80, byte(items>>6)&0x7f | 0x80, byte(items >> 13)}
		return append(append(count, strings.Repeat(item, items)...), 0)
	}
	const n = 100_000
	for name, c := range map[string]struct {
		schema string
		data   []byte
		passes bool
	}{
		"longs":         {`{"type":"array","items":"long"}`, block(n, "\x02"), true},
		"optional_ints": {`{"type":"array","items":["null","int"]}`, block(n, "\x02\x7e"), true},
		"strings":       {`{"type":"array","items":"string"}`, block(n, "\x02a"), true},
		"rings":         {`{"type":"array","items":{"type":"array","items":"double"}}`, block(n, "\x04"+strings.Repeat("\x00", 16)+"\x00"), true},
		"tiny_records":  {`{"type":"array","items":{"type":"record","name":"R","fields":[{"name":"a","type":"boolean"}]}}`, block(n, "\x01"), false},
		"empty_arrays":  {`{"type":"array","items":{"type":"array","items":"null"}}`, block(n, "\x00"), false},
	} {
		t.Run(name, func(t *testing.T) {
			s := parse(t, c.schema)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := s.Decode(c.data, avro.Limits{})
			runtime.ReadMemStats(&after)
			if took, most := after.TotalAlloc-before.TotalAlloc, uint64(64*len(c.data)+(512<<10)); took > most {
				t.Errorf("%d bytes took %d bytes of memory", len(c.data), took)
			}
			if (err == nil) != c.passes {
				t.Errorf("got %v", err)
			}
		})
	}
}
