package avro

import (
	"bytes"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

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
	expect.That(t, err != nil, "bytes behind the datum are accepted")
}
