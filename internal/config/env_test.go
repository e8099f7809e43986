package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/envelope"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
	"github.com/switchback-geo/switchback/pkg/transform"
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
	expect.That(t, !strings.Contains(err.Error(), "hunter2"), "a fault contains the value of an unknown variable")
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
		changed := strings.Replace(reloadable, c.from, c.to, 1)
		if c.name == "the level of the log" {
			changed = reloadable + "log: { level: debug }\n"
		}
		from, to := mustParse(t, reloadable), mustParse(t, changed)
		taken, restart, err := Changes(from, to)
		must.That(t, err == nil && slices.Equal(taken, c.taken) && slices.Equal(restart, c.restart), "%v: applied %v, restart %v, error %v; want %v, %v", c.name, taken, restart, err, c.taken, c.restart)
		again, still, err := Changes(from.Taking(to), to)
		expect.That(t, err == nil && len(again) == 0 && slices.Equal(still, c.restart), "%v: after it was applied: %v, %v, %v", c.name, again, still, err)
		before, _, _ := Changes(from, mustParse(t, reloadable))
		expect.That(t, len(before) == 0, "%v: the old configuration changed: %v", c.name, before)
	}
}

const theSecret = "correct-horse-battery"

// printed returns a value in every form in which it could reach a log, a screen or a file.
func printed(t *testing.T, v any) map[string]string {
	t.Helper()
	asJSON := must.Get(json.Marshal(v))(t)
	asYAML := must.Get(yaml.Marshal(v))(t)
	var text, lines bytes.Buffer
	slog.New(slog.NewTextHandler(&text, nil)).Info("x", "v", v)
	slog.New(slog.NewJSONHandler(&lines, nil)).Info("x", "v", v)
	return map[string]string{
		"%v": fmt.Sprintf("%v", v), "%+v": fmt.Sprintf("%+v", v), "%#v": fmt.Sprintf("%#v", v),
		"%s": fmt.Sprintf("%s", v), "%q": fmt.Sprintf("%q", v), "%x": fmt.Sprintf("%x", v), "%d": fmt.Sprintf("%d", v),
		"JSON": string(asJSON), "YAML": string(asYAML), "slog text": text.String(), "slog JSON": lines.String(),
	}
}

func TestConfig_prints_no_secret(t *testing.T) {
	t.Setenv("PARCELS_KAFKA_PASSWORD", theSecret)
	cfg := must.Get(Load("testdata/full.yaml"))(t)
	_, secret, err := cfg.Kafka.SASL.Credentials()
	must.That(t, err == nil && secret.Reveal() == theSecret, "the secret that must not print was not read: %v", err)
	for _, v := range []any{cfg, *cfg, cfg.Kafka} {
		for how, text := range printed(t, v) {
			expect.That(t, !strings.Contains(text, theSecret), "%s of %T shows the secret", how, v)
		}
	}
}

// A Secret stays hidden wherever it is: alone, behind a pointer, in exported and unexported fields, in lists and maps.
func TestSecret_prints_as_redacted(t *testing.T) {
	s := NewSecret(theSecret)
	hidden := struct {
		Shown  Secret
		hidden Secret
	}{s, s}
	asHex := fmt.Sprintf("%x", theSecret)
	for _, v := range []any{s, &s, hidden, []Secret{s}, map[string]Secret{"k": s}} {
		for how, text := range printed(t, v) {
			expect.That(t, !strings.Contains(text, theSecret) && !strings.Contains(text, asHex), "%s of %T shows the secret: %s", how, v, text)
		}
	}
	for _, how := range []string{"%v", "%#v", "JSON", "YAML", "slog text", "slog JSON"} {
		text := printed(t, s)[how]
		expect.That(t, strings.Contains(text, redacted), "%s: %s", how, text)
	}
	expect.That(t, s.Reveal() == theSecret && (Secret{}).Reveal() == "", "Reveal must return the value, and \"\" for the zero Secret")
}

func TestCredentials_are_read_when_asked_for(t *testing.T) {
	file := filepath.Join(t.TempDir(), "password")
	must.Do(t, os.WriteFile(file, []byte("from-file\r\n"), 0o600))
	empty := filepath.Join(t.TempDir(), "empty")
	must.Do(t, os.WriteFile(empty, []byte("\n"), 0o600))
	t.Setenv("TEST_SASL_USER", "user-from-env")
	t.Setenv("TEST_SASL_PASSWORD", "from-env")
	for name, c := range map[string]struct {
		sasl           SASL
		user, password string
		problem        string
	}{
		"variables":     {SASL{UsernameEnv: "TEST_SASL_USER", PasswordEnv: "TEST_SASL_PASSWORD"}, "user-from-env", "from-env", ""},
		"file":          {SASL{Username: "u", PasswordFile: file}, "u", "from-file", ""},
		"unset":         {SASL{Username: "u", PasswordEnv: "TEST_SASL_UNSET"}, "u", "", "environment variable TEST_SASL_UNSET is not set or empty"},
		"unset user":    {SASL{UsernameEnv: "TEST_SASL_UNSET", PasswordFile: file}, "", "from-file", "kafka.sasl.username_env"},
		"no such file":  {SASL{Username: "u", PasswordFile: file + ".none"}, "u", "", "kafka.sasl.password_file"},
		"an empty file": {SASL{Username: "u", PasswordFile: empty}, "u", "", "is empty"},
	} {
		user, password, err := c.sasl.Credentials()
		expect.That(t, user == c.user && password.Reveal() == c.password, "%v: got %q, %q", name, user, password.Reveal())
		expect.That(t, (err == nil) == (c.problem == "") && (err == nil || strings.Contains(err.Error(), c.problem)), "%v: got error %v, want %q", name, err, c.problem)
	}
}

// The allowed words of a key are those of the package that uses it. The tags repeat them for the decoder and the schema.
func TestKeys_takeTheWordsOfTheirPackages(t *testing.T) {
	data := slices.DeleteFunc(envelope.Formats(), func(f envelope.Format) bool { return f == envelope.CloudEvents })
	const rules = retryPath + "rules[]."
	want := map[string][]string{
		"source.format": texts(envelope.Formats()), "source.split": texts(envelope.Splits()), "source.row.geometry_format": texts(envelope.GeometryFormats()),
		"source.jsonfg.unsupported": texts(envelope.Unsupporteds()), "source.cloudevents.data": texts(data),
		"source.debezium.serialization": texts(envelope.Serializations()), retryPath + "strategy": texts(policy.Strategies()),
		"transform.geometry.types": texts(transform.GeometryTypes()), "kafka.sasl.mechanism": texts(Mechanisms()),
		rules + "stage": texts(classify.Stages()), rules + "class": texts(classify.Classes()), rules + "category": texts(classify.RetriedCategories()), rules + "alert": texts(classify.Alerts()),
	}
	walkType("", reflect.TypeFor[Config](), func(path string, k key) {
		words, checked := want[path]
		expect.That(t, !checked || slices.Equal(slices.Sorted(slices.Values(k.rules().words)), slices.Sorted(slices.Values(words))), "%s takes %q, want %q", path, k.rules().words, words)
		delete(want, path)
	})
	expect.That(t, len(want) == 0, "no such keys: %v", want)
}

func TestSchemaRegistry_urls(t *testing.T) {
	r := SchemaRegistry{URL: " https://a:8081/ ,https://b:8081/registry"}
	expect.Equal(t, strings.Join(r.URLs(), " "), "https://a:8081 https://b:8081/registry")
	expect.That(t, !(SchemaRegistry{}).Enabled() && len(SchemaRegistry{}.URLs()) == 0, "there is a registry without a URL")
}

// The registry's secrets come from the place that the file names. An error names that place, and never its content.
func TestSchemaRegistry_credentials(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	must.Do(t, os.WriteFile(file, []byte(theSecret+"\n"), 0o600))
	t.Setenv("REGISTRY_PASSWORD", theSecret)
	t.Setenv("REGISTRY_USER", "ana")
	for _, c := range []struct {
		name            string
		r               SchemaRegistry
		username        string
		password, token string
		fails           string
	}{
		{"nothing", SchemaRegistry{}, "", "", "", ""},
		{"user_and_password", SchemaRegistry{Username: "ana", PasswordEnv: "REGISTRY_PASSWORD"}, "ana", theSecret, "", ""},
		{"user_from_the_environment", SchemaRegistry{UsernameEnv: "REGISTRY_USER", PasswordFile: file}, "ana", theSecret, "", ""},
		{"token", SchemaRegistry{TokenFile: file}, "", "", theSecret, ""},
		{"no_such_variable", SchemaRegistry{TokenEnv: "NOWHERE"}, "", "", "", "schema_registry.token_env: environment variable NOWHERE"},
		{"no_such_user", SchemaRegistry{UsernameEnv: "NOBODY", PasswordFile: file}, "", theSecret, "", "schema_registry.username_env: environment variable NOBODY"},
		{"no_such_file", SchemaRegistry{Username: "ana", PasswordFile: file + "x"}, "ana", "", "", "schema_registry.password_file"},
	} {
		got, err := c.r.Credentials()
		must.That(t, (err == nil) == (c.fails == "") && (err == nil || strings.Contains(err.Error(), c.fails) && !strings.Contains(err.Error(), theSecret)), "%v: got the error %v, want %q", c.name, err, c.fails)
		expect.That(t, err != nil || got.Username == c.username && got.Password.Reveal() == c.password && got.Token.Reveal() == c.token, "%v: got %q, %q, %q", c.name, got.Username, got.Password.Reveal(), got.Token.Reveal())
	}
}
