package avro

import (
	"bytes"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// Complete fills in defaults and the branches of unions if they are unambiguous. It keeps digits, and leaves invalid
// values to be refused.
func TestComplete(t *testing.T) {
	s := must.Get(Parse(`{"type":"record","name":"a.Order","fields":[
		{"name":"id","type":"long"},
		{"name":"note","type":["null","string"],"default":null},
		{"name":"state","type":["string","null"],"default":"new"},
		{"name":"amount","type":["null","int","double"],"default":null},
		{"name":"buyer","type":["null",{"type":"record","name":"Buyer","fields":[{"name":"name","type":"string"},{"name":"vip","type":"boolean","default":false}]}],"default":null},
		{"name":"next","type":["null","a.Order"],"default":null},
		{"name":"tags","type":{"type":"map","values":{"type":"array","items":["null","string"]}},"default":{}}]}`))(t)
	const rest = `"amount":null,"buyer":null,`
	for text, want := range map[string]string{
		`{"id":9007199254740993}`: `{` + rest + `"id":9007199254740993,"next":null,"note":null,"state":{"string":"new"},"tags":{}}`,
		`{"id":1,"note":"x","state":null,"tags":{"a":["b",null,{"string":"c"}]}}`: `{` + rest + `"id":1,"next":null,"note":{"string":"x"},"state":null,"tags":{"a":[{"string":"b"},null,{"string":"c"}]}}`,
		`{"id":1,"buyer":{"name":"Ada"}}`:                                         `{"amount":null,"buyer":{"a.Buyer":{"name":"Ada","vip":false}},"id":1,"next":null,"note":null,"state":{"string":"new"},"tags":{}}`,
		`{"id":1,"buyer":{"a.Buyer":{"name":"Ada"}}}`:                             `{"amount":null,"buyer":{"a.Buyer":{"name":"Ada","vip":false}},"id":1,"next":null,"note":null,"state":{"string":"new"},"tags":{}}`,
		`{"id":1,"next":{"id":2}}`:                                                `{` + rest + `"id":1,"next":{"a.Order":{` + rest + `"id":2,"next":null,"note":null,"state":{"string":"new"},"tags":{}}},"note":null,"state":{"string":"new"},"tags":{}}`,
	} {
		got, err := s.Complete([]byte(text))
		expect.That(t, err == nil && string(got) == want, "%s: got %s, %v", text, got, err)
		_, err = s.AppendText(nil, got)
		expect.That(t, err == nil, "%s: %v", text, err)
	}
	for _, text := range []string{`{}`, `{"id":1,"amount":2}`, `{"id":1,"note":true}`, `{"id":1,"unknown":1}`, `[]`, `null`} { // two branches hold a number
		got, err := s.Complete([]byte(text))
		must.Do(t, err)
		_, err = s.AppendText(nil, got)
		expect.That(t, err != nil, "%s is taken as %s", text, got)
	}
	loop := must.Get(Parse(`{"type":"record","name":"Loop","fields":[{"name":"next","type":"Loop","default":{}}]}`))(t)
	must.Get(loop.Complete([]byte(`{}`)))(t)
	for _, text := range []string{``, `{"id":1} 2`, `{"id"`} {
		_, err := s.Complete([]byte(text))
		expect.That(t, err != nil, "%q is completed", text)
	}
}

func TestText_and_back_is_the_same_datum(t *testing.T) {
	s, err := Parse(`{"type":"record","name":"Row","fields":[
		{"name":"id","type":"long"},{"name":"area","type":["null","double"]},{"name":"name","type":"string"},
		{"name":"raw","type":"bytes"},{"name":"tags","type":{"type":"map","values":"string"}},{"name":"n","type":{"type":"array","items":"int"}}]}`)
	must.Do(t, err)
	datum, err := s.Encode(nil, map[string]any{
		"id": int64(9007199254740993), "area": map[string]any{"double": 0.1}, "name": "x<\u00e9\"", "raw": []byte{0, 255, 10},
		"tags": map[string]any{"a": "b"}, "n": []any{int32(1), int32(-2)},
	})
	must.Do(t, err)
	text := must.Get(s.Text(datum))(t)
	expect.That(t, bytes.Contains(text, []byte("9007199254740993")) && bytes.Contains(text, []byte(`"area":{"double":0.1}`)), "text %s", text)
	back, err := s.AppendText([]byte("head"), text)
	expect.That(t, err == nil && bytes.Equal(back, append([]byte("head"), datum...)), "%x, %v, want %x", back, err, datum)
	for name, broken := range map[string]string{"no JSON": "{", "more behind it": string(text) + "1", "member missing": `{"id":1}`} {
		_, err := s.AppendText(nil, []byte(broken))
		expect.That(t, err != nil, "%s is accepted", name)
	}
	_, err = s.Text(append(datum, 0))
	expect.That(t, err != nil, "bytes after the datum are accepted")
}
