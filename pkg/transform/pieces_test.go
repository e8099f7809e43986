package transform_test

import (
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// Each feature is cut out as it stands, with all that stands around the features.
func TestCutCollection(t *testing.T) {
	const text = ` {"crs": null , "features" : [ {"a" : "]\"[,"} ,[1, 2] , 3 ] , "type":"FeatureCollection","x":{"features":[9]}} ` + "\n"
	p, ok := transform.CutCollection([]byte(text))
	must.That(t, ok && p.Len() == 3, "%d pieces, %v", p.Len(), ok)
	for i, want := range []string{`{"a" : "]\"[,"}`, `[1, 2]`, `3`} {
		alone := strings.Replace(text, `[ {"a" : "]\"[,"} ,[1, 2] , 3 ]`, "["+want+"]", 1)
		expect.Equal(t, string(p.Feature(i)), want, "piece", i)
		expect.Equal(t, string(p.Alone(i)), alone, "alone, piece", i)
	}
	if empty := string(p.Empty()); len(empty) != p.Frame() || !strings.Contains(empty, `"features" : [] ,`) {
		t.Errorf("empty: %s, frame of %d bytes", empty, p.Frame())
	}
}

// What is no collection in JSON has no pieces.
func TestCutCollectionRefuses(t *testing.T) {
	for _, text := range []string{
		"", "[]", "{", `{"features":1}`, `{"features":{}}`, `{"type":"FeatureCollection"}`, `{"features":[1,]}`, `{"features":[1}`, `{"features":[1]`,
		`{"features":[1]} 2`, `{"features":[1],"features":[2]}`, `{"features":[{"a":1,"a":2}]}`, "{\"features\":[\"\xff\"]}", `{"features":[1],"x":}`,
	} {
		p, ok := transform.CutCollection([]byte(text))
		expect.That(t, !ok, "%s was cut into %d pieces", text, p.Len())
	}
	if p, ok := transform.CutCollection([]byte(`{"features":[]}`)); !ok || p.Len() != 0 {
		t.Error("a collection without features is one")
	}
}
