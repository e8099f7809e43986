package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
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
	if got := spread(in); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
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
		if err := json.Compact(&back, []byte(spread(compact.String()))); err != nil || back.String() != compact.String() {
			t.Fatalf("%s becomes %s (%v)", &compact, &back, err)
		}
	})
}
