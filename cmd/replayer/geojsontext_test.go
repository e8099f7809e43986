package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

func TestSpread(t *testing.T) {
	in := `{"type":"Feature","geometry":{"type":"Point","coordinates":[1,2]},"properties":{"a":[{"b":1}],"c":"x,{\"y\":[\\","d":{}}}`
	want := strings.TrimSpace(`
{
  "type": "Feature",
  "geometry": {
    "type": "Point",
    "coordinates": [1,2]
  },
  "properties": {
    "a": [{"b":1}],
    "c": "x,{\"y\":[\\",
    "d": {}
  }
}`)
	got := spread(in)
	expect.That(t, got == want, "got\n%s\nwant\n%s", got, want)
}

func FuzzSpread(f *testing.F) {
	f.Add(`{"a":{"b":[1,{"c":"}"}]},"d":{}}`)
	f.Add(`"\""`)
	f.Add(`[]`)
	f.Fuzz(func(t *testing.T, text string) {
		var compact, back bytes.Buffer
		if json.Compact(&compact, []byte(text)) != nil {
			return
		}
		err := json.Compact(&back, []byte(spread(compact.String())))
		must.That(t, err == nil && back.String() == compact.String(), "%s becomes %s (%v)", &compact, &back, err)
	})
}
