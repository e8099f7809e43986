package main

import (
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
)

// A field whose source no line has is named, with what may have been meant: an optional one passes in silence otherwise.
func TestTransform_namesFieldsThatReadNothing(t *testing.T) {
	const in = `{"type":"Feature","id":1,"geometry":null,"properties":{"magType":"ml","mag":1.5,"place":{"name":"x"}}}` + "\n" +
		`{"type":"FeatureCollection","features":[{"type":"Feature","id":2,"geometry":null,"properties":{"depth":3}}]}` + "\n"
	for _, c := range []struct{ name, field, want string }{
		{"misspelt", "{ from: magTpye, to: kind }", `transform.fields[0].from (line 6): none of 2 features has the property "magTpye"; did you mean "magType"?`},
		{"from the feature on", "{ from: properties.mag, to: magnitude }", `has the property "properties.mag"; from begins at the properties: write "mag"`},
		{"required", "{ from: properties.mag, to: magnitude, required: true }", `write "mag"`},
		{"like nothing", "{ from: owner, to: owner }", `none of 2 features has the property "owner"` + "\n"},
		{"a path", "{ from: place.name, to: name }", ""},
		{"of a collection", "{ to: depth }", ""},
		{"computed", "{ expr: '1', to: one }", ""},
		{"a flattened name", `{ to: place_name }`, ""},
		{"no flattened name", `{ to: place-name }`, `has the property "place-name"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			name := file(t, pipelineFile+"transform: { unmapped: drop, flatten: { separator: _ }, fields: ["+c.field+"] }\n")
			_, _, stderr := filtered(t, in, "-c", name)
			_, warning, _ := strings.Cut(stderr, "consumer: warning: ")
			expect.That(t, (c.want != "" || warning == "") && strings.Contains(warning, c.want), "got %q, want %q", stderr, c.want)
		})
	}
}
