package docs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/switchback-geo/switchback/internal/access"
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/proc"
)

// smallest is the pipeline file that a fragment is put under when it has no `pipeline` of its own.
const smallest = `
pipeline:
  id: example
  retry_policy: { max_attempts: 5, base_delay_seconds: 2.0, retryable_status_codes: [429, 502, 503, 504] }
  tolerance: { max_null_rate: 0.005, halt_on_geometry_invalid: false }
`

func noEnv(string) string { return "" }

func TestBlocks_configurations_load(t *testing.T) {
	for _, b := range blocks(t) {
		if b.has("access") {
			_, err := access.Parse(b.page, []byte(b.text))
			expect.That(t, err == nil, "%s: %v", b, err)
		}
		if !b.has("config") && !b.has("fragment") {
			continue
		}
		t.Run(b.String(), func(t *testing.T) {
			text := b.text
			if b.has("fragment") {
				text = completed(t, text)
			}
			_, err := config.Parse(b.page, []byte(text), noEnv)
			expect.That(t, err == nil, "does not load:\n%v", err)
		})
	}
}

// completed puts the mandatory part under a fragment that lacks it.
func completed(t *testing.T, fragment string) string {
	t.Helper()
	var keys map[string]any
	must.Do(t, yaml.Unmarshal([]byte(fragment), &keys))
	if _, ok := keys["pipeline"]; ok {
		return fragment
	}
	return fragment + smallest
}

// Every pipeline file that the project ships loads.
func TestShippedConfigurationsLoad(t *testing.T) {
	var files []string
	for _, pattern := range []string{"deploy/config.*.yaml", "examples/*/*.yaml", "examples/*.yaml"} {
		found := must.Get(filepath.Glob(filepath.Join(root, pattern)))(t)
		files = append(files, found...)
	}
	must.That(t, len(files) >= 2, "found only %v", files)
	for _, file := range files {
		t.Run(strings.TrimPrefix(filepath.ToSlash(file), root+"/"), func(t *testing.T) {
			text := must.Get(os.ReadFile(file))(t)
			_, err := config.Parse(file, text, noEnv)
			expect.That(t, err == nil, "does not load:\n%v", err)
		})
	}
}

// whole is a pipeline file with nothing but the mandatory keys, one a line, and a broker that nobody could reach.
const whole = `pipeline:
  id: parcels
  retry_policy:
    max_attempts: 5
    base_delay_seconds: 2.0
    retryable_status_codes: [429, 503]
  tolerance:
    max_null_rate: 0.005
    halt_on_geometry_invalid: false
kafka: { brokers: ["127.0.0.1:1"] }
`

// S0-2: all faults of a file are named at once, before any I/O, and a file without any is legal without a broker.
func TestValidate_S0_2_all_faults_at_once(t *testing.T) {
	for _, command := range []string{"validate", "run"} {
		res := consumer(t, "pipeline:\n  id: parcels\n  retry_policy: { max_attempts: 0 }\n", command)
		for _, key := range []string{"max_attempts", "base_delay_seconds", "retryable_status_codes", "tolerance"} {
			expect.That(t, res.Code == 2 && strings.Contains(res.Stdout+res.Stderr, key), "%s: %s is not named: %v", command, key, res)
		}
	}
	res := consumer(t, whole, "validate")
	expect.That(t, res.Code == 0, "the whole file: %v", res)
}

// consumer runs a command on a pipeline file with this text.
func consumer(t *testing.T, text, command string) proc.Result {
	t.Helper()
	file := filepath.Join(t.TempDir(), "pipeline.yaml")
	must.Do(t, os.WriteFile(file, []byte(text), 0o600))
	return proc.Run(t.Context(), t, proc.Spec{Path: filepath.Join(binaries, "consumer"), Args: []string{command, "-c", file}})
}
