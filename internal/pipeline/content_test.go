package pipeline_test

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// Two events of a key with two outputs are never one content: the second would be closed as a duplicate, and lost.
func TestHandle_S0_6_twoOutputsAreTwoContents(t *testing.T) {
	const point = `{"type":"Feature","id":"p","geometry":{"type":"Point","coordinates":[500000,5000000]},"properties":{"a":1}%s}`
	const located = `{"type":"Feature","id":"p","geometry":{"type":"Point","coordinates":[8,47]},"properties":{"a":1}%s}`
	crs := func(name string) string {
		return `,"crs":{"type":"name","properties":{"name":"` + name + `"}}`
	}
	for name, c := range map[string]struct{ rest, base, one, two string }{
		"foreign_member": {"", located, `,"status":"open"`, `,"status":"closed"`},
		"bbox":           {"", located, `,"bbox":[7,46,9,48]`, `,"bbox":[8,47,8,47]`},
		"json_fg_time":   {"source: { format: jsonfg }\n", located, `,"time":{"date":"2026-01-01"}`, `,"time":{"date":"2026-01-02"}`},
		"crs":            {"transform: { geometry: { declared_crs: use } }\n", point, crs("EPSG:25832"), crs("EPSG:25833")},
		"in_a_collection": {
			"source: { split: features }\n", `{"type":"FeatureCollection","features":[` + located + `]}`, `,"status":"open"`, `,"status":"closed"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := build(t, c.rest)
			var outputs, hashes [2]string
			for i, more := range [...]string{c.one, c.two} {
				r := record(fmt.Sprintf(c.base, more))
				result := must.Get(p.Handle(t.Context(), r))(t)
				outputs[i], hashes[i] = string(result.Outputs[0].Value), result.ContentHash
				if known := p.Identify(t.Context(), r.Key, []kgo.RecordHeader(nil), r.Value); known.ContentHash != hashes[i] {
					t.Errorf("the consumer says %s, whoever identifies the record %s", hashes[i], known.ContentHash)
				}
			}
			if outputs[0] == outputs[1] || hashes[0] == hashes[1] {
				t.Errorf("%s and %s have the hashes %s and %s", outputs[0], outputs[1], hashes[0], hashes[1])
			}
		})
	}
}
