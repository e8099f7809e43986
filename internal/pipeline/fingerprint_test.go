package pipeline_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/pipeline"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

const printed = `pipeline:
  id: parcels
  retry_policy: { max_attempts: 3, base_delay_seconds: 2, retryable_status_codes: [503, 429] }
  tolerance: { max_null_rate: 1, halt_on_geometry_invalid: false }
transform:
  references: [{ name: zones, file: FILE, column: id }]
  fields: [{ to: zone, references: { set: zones } }, { from: a, to: b, type: string }]
enrich:
  - name: place
    http: { url: "https://places.example/{properties.b}", rate: { per_second: 10 } }
    set: { place_name: /name }
`

func fingerprint(t *testing.T, text string) string {
	t.Helper()
	cfg := must.Get(config.Parse("pipeline.yaml", []byte(text), func(string) string { return "" }))(t)
	m := must.Get(pipeline.NewMapping(cfg))(t)
	return must.Get(m.Fingerprint())(t)
}

// What decides what becomes of a record changes the fingerprint, and nothing else does.
func TestFingerprint_S4_8(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		file := filepath.Join(dir, name)
		must.Do(t, os.WriteFile(file, []byte(content), 0o600))
		return file
	}
	file := write("zones.csv", "id,name\nA,a\nB,b\n")
	text := strings.Replace(printed, "FILE", file, 1)
	want := fingerprint(t, text)
	if !strings.HasPrefix(want, "sha256:") || len(want) != 71 {
		t.Fatalf("%q", want)
	}
	for _, c := range []struct {
		name, from, to string
		same           bool
	}{
		{"a comment", "transform:\n", "transform: # the target schema\n", true},
		{"the order of keys", "from: a, to: b, type: string", "type: string, to: b, from: a", true},
		{"a default that is written out", "enrich:\n", "source: { null_keys: reject }\nenrich:\n", true},
		{"another place of an equal file, in another order", file, write("other.csv", "name,id\nb,B\na,A\n"), true},
		{"a rate", "per_second: 10", "per_second: 20", true},
		{"the order of statuses", "[503, 429]", "[429, 503]", true},
		{"brokers", "enrich:\n", "kafka: { brokers: [\"other:9092\"] }\nenrich:\n", true},
		{"a field", "from: a,", "from: c,", false},
		{"a type", "type: string", "type: integer", false},
		{"a validation", "to: zone, references: { set: zones }", "to: zone, references: { set: zones, mandatory: true }", false},
		{"a key of a reference set", file, write("more.csv", "id\nA\nB\nC\n"), false},
		{"a status that is retried", "[503, 429]", "[503]", false},
		{"a service", "places.example", "other.example", false},
		{"null keys", "enrich:\n", "source: { null_keys: accept }\nenrich:\n", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			changed := strings.Replace(text, c.from, c.to, 1)
			if changed == text {
				t.Fatal("nothing is changed")
			}
			if got := fingerprint(t, changed); (got == want) != c.same {
				t.Errorf("same is %v, want %v", got == want, c.same)
			}
		})
	}
}
