package config

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

func TestEnv_overrides_every_kind_of_key(t *testing.T) {
	const file = minimalText + `
enrich:
  - {name: place, http: {url: "http://a/{id}"}, set: {a: /a}}
`
	cfg := must.Get(Parse("x", []byte(file), env(
		"SWITCHBACK_KAFKA_BROKERS", "a:9092, b:9092",
		"SWITCHBACK_PIPELINE_RETRY_POLICY_MAX_ATTEMPTS", "3",
		"SWITCHBACK_PIPELINE_RETRY_POLICY_BASE_DELAY_SECONDS", "4",
		"SWITCHBACK_PIPELINE_RETRY_POLICY_TIERS", "4s,1m",
		"SWITCHBACK_PIPELINE_RETRY_POLICY_RETRYABLE_STATUS_CODES", "[500, 503]",
		"SWITCHBACK_PIPELINE_RETRY_POLICY_JITTER", "False",
		"SWITCHBACK_PIPELINE_ID", "12",
		"SWITCHBACK_AUDIT", "all",
		"SWITCHBACK_METRICS_LISTEN", `""`,
		"SWITCHBACK_TRANSFORM_UNMAPPED", "drop",
		"SWITCHBACK_TRANSFORM_FLATTEN_SEPARATOR", ".",
		"SWITCHBACK_TRANSFORM_CONSTANTS", "{source: x}",
		"SWITCHBACK_TRANSFORM_FIELDS", "[{from: A, to: a}, {from: B, to: b}]",
		"SWITCHBACK_TRANSFORM_FIELDS_1_TO", "c",
		"SWITCHBACK_ENRICH_0_HTTP_URL", "http://b/{id}",
		"SWITCHBACK_ENRICH_0_HTTP_TIMEOUT", "5s",
	)))(t)
	want := mustParse(t, `pipeline:
  id: "12"
  retry_policy: {max_attempts: 3, base_delay_seconds: 4, tiers: [4s, 60s], retryable_status_codes: [500, 503], jitter: false}
  tolerance: {max_null_rate: 1, halt_on_geometry_invalid: false}
kafka: {brokers: ["a:9092", "b:9092"]}
audit: all
metrics: {listen: ""}
transform:
  unmapped: drop
  flatten: {separator: .}
  constants: {source: x}
  fields: [{from: A, to: a}, {from: B, to: c}]
enrich:
  - {name: place, http: {url: "http://b/{id}", timeout: 5s}, set: {a: /a}}
`)
	if got, want := values(cfg), values(want); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %#v\nwant %#v", got, want)
	}
}

func TestEnv_faults_name_the_variable(t *testing.T) {
	for _, c := range []struct{ variable, value, want string }{
		{"SWITCHBACK_PIPELINE_RETRY_POLICY_MAX_ATTEMPTS", "0", "pipeline.retry_policy.max_attempts: 0 is out of range, and forbidden: " + infinite + "; write a number from 1 to 1000"},
		{"SWITCHBACK_PIPELINE_RETRY_POLICY_JITTER", "yes", `pipeline.retry_policy.jitter: expected true or false, found "yes"; write true or false, without quotes`},
		{"SWITCHBACK_PIPELINE_RETRY_POLICY_TIERS", "2s,", "pipeline.retry_policy.tiers[1]: is empty; write the entries separated by single commas"},
		{"SWITCHBACK_PIPELINE_RETRY_POLICY_RETRYABLE_STATUS_CODES", "503,no", `pipeline.retry_policy.retryable_status_codes[1]: expected a whole number, found "no"; write plain digits, without quotes, point or underscores`},
		{"SWITCHBACK_KAFKA_BROKERS", `""`, "kafka.brokers: has 0 entries, needs at least 1; add one or remove the key"},
		{"SWITCHBACK_ENGINE_COMMIT_INTERVAL", "10", "engine.commit_interval: expected a duration such as 500ms, 2s or 1h, found \"10\"; write a number and a unit, such as 500ms, 2s or 1h"},
		{"SWITCHBACK_ENRICH", "[{name: a", "enrich: not YAML: could not find flow mapping end token '}'; write it as YAML in flow style, as [{name: a}, {name: b}]"},
		{"SWITCHBACK_ENRICH", "[{nam: a}]", "enrich[0].nam: unknown key; did you mean name?"},
	} {
		_, err := Parse("x", []byte(minimalText), env(c.variable, c.value))
		var faults *Faults
		if !errors.As(err, &faults) {
			t.Errorf("%s=%s: got %v", c.variable, c.value, err)
			continue
		}
		first := faults.List[0]
		expect.That(t, first.Text("x") == c.variable+": "+c.want && first.Variable == c.variable, "%s=%s:\n got %s\nwant %s: %s", c.variable, c.value, first.Text("x"), c.variable, c.want)
	}
}

func TestLoad_refuses_variables_that_override_nothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.yaml")
	const file = minimalText + "kafka: {tls: {enabled: true}, sasl: {mechanism: PLAIN, username: u, password_env: SWITCHBACK_MY_SECRET}}\n"
	must.Do(t, os.WriteFile(path, []byte(file), 0o600))
	legal := map[string]string{"SWITCHBACK_MY_SECRET": "hunter2", "SWITCHBACK_EMPTY": ""}
	wrong := map[string]string{
		"SWITCHBACK_KAFKA_BROKER":        "SWITCHBACK_KAFKA_BROKER: overrides no key; did you mean SWITCHBACK_KAFKA_BROKERS?",
		"SWITCHBACK_KAFKA_SASL_PASSWORD": "SWITCHBACK_KAFKA_SASL_PASSWORD: overrides no key; a secret has a variable of your choice: set SWITCHBACK_KAFKA_SASL_PASSWORD_ENV to its name",
		"SWITCHBACK_XYZ":                 "SWITCHBACK_XYZ: overrides no key; unset it, or use the path of a key, as in SWITCHBACK_KAFKA_BROKERS",
		"SWITCHBACK_ENRICH_0_HTTP_URL":   "SWITCHBACK_ENRICH_0_HTTP_URL: overrides no key; unset it, or use the path of a key, as in SWITCHBACK_KAFKA_BROKERS",
	}
	for name, value := range legal {
		t.Setenv(name, value)
	}
	must.Get(Load(path))(t)
	for name := range wrong {
		t.Setenv(name, "hunter2")
	}
	_, err := Load(path)
	var faults *Faults
	must.That(t, errors.As(err, &faults) && len(faults.List) == len(wrong), "got %v", err)
	for _, f := range faults.List {
		expect.That(t, f.Text("x") == wrong[f.Variable], "\n got %s\nwant %s", f.Text("x"), wrong[f.Variable])
	}
	expect.That(t, !strings.Contains(err.Error(), "hunter2"), "a fault shows the value of an unknown variable")
}

const reloadable = `pipeline:
  id: parcels
  retry_policy: { max_attempts: 3, base_delay_seconds: 2, retryable_status_codes: [503] }
  tolerance: { max_null_rate: 1, halt_on_geometry_invalid: false }
transform: { unmapped: drop, fields: [{ from: id, to: id }] }
enrich:
  - name: place
    http: { url: "https://places.example/{properties.id}", rate: { per_second: 10, burst: 5 }, breaker: { preset: steady, failures: 5 } }
    set: { place_name: /name }
`

func TestChanges_S4_5_tellsWhatARunningConsumerCanTakeUp(t *testing.T) {
	for _, c := range []struct {
		name, from, to string
		taken, restart []string
	}{
		{"nothing", "", "", nil, nil},
		{"a rate", "per_second: 10", "per_second: 20", []string{"enrich[0].http.rate.per_second"}, nil},
		{"a breaker", "failures: 5", "failures: 7", []string{"enrich[0].http.breaker.failures"}, nil},
		{"an address", "places.example", "other.example", nil, []string{"enrich[0].http.url"}},
		{"the level of the log", "", "", []string{"log.level"}, nil},
		{"attempts", "max_attempts: 3", "max_attempts: 4", nil, []string{"pipeline.retry_policy.max_attempts"}},
		{"a rate that was not there", "rate: { per_second: 10, burst: 5 }, ", "", nil, []string{"enrich[0].http.rate.burst", "enrich[0].http.rate.per_second"}},
		{"another step in its place", "name: place\n    http: { url: \"https://places.example/{properties.id}\", rate: { per_second: 10", "name: other\n    http: { url: \"https://places.example/{properties.id}\", rate: { per_second: 20",
			nil, []string{"enrich[0].http.rate.per_second", "enrich[0].name"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			changed := strings.Replace(reloadable, c.from, c.to, 1)
			if c.name == "the level of the log" {
				changed = reloadable + "log: { level: debug }\n"
			}
			from, to := mustParse(t, reloadable), mustParse(t, changed)
			taken, restart, err := Changes(from, to)
			must.That(t, err == nil && slices.Equal(taken, c.taken) && slices.Equal(restart, c.restart),
				"taken %v, restart %v, error %v; want %v, %v", taken, restart, err, c.taken, c.restart)
			again, still, err := Changes(from.Taking(to), to)
			expect.That(t, err == nil && len(again) == 0 && slices.Equal(still, c.restart), "after it was taken up: %v, %v, %v", again, still, err)
			before, _, _ := Changes(from, mustParse(t, reloadable))
			expect.That(t, len(before) == 0, "the old configuration changed: %v", before)
		})
	}
}
