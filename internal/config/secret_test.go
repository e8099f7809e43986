package config

import (
	"bytes"
	"encoding/json"
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
)

const theSecret = "correct-horse-battery"

// printed gives a value in every way in which it could reach a log, a screen or a file.
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
	for _, v := range []any{cfg, *cfg, cfg.Redacted(), cfg.Kafka} {
		for how, text := range printed(t, v) {
			expect.That(t, !strings.Contains(text, theSecret), "%s of %T shows the secret", how, v)
		}
	}
}

// A Secret must stay hidden wherever it is put: alone, behind a pointer, in exported and
// unexported fields, in lists and maps.
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
	expect.That(t, s.Reveal() == theSecret && (Secret{}).Reveal() == "", "Reveal must give the value, and nothing of the zero Secret")
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
		t.Run(name, func(t *testing.T) {
			user, password, err := c.sasl.Credentials()
			expect.That(t, user == c.user && password.Reveal() == c.password, "got %q, %q", user, password.Reveal())
			expect.That(t, (err == nil) == (c.problem == "") && (err == nil || strings.Contains(err.Error(), c.problem)), "got error %v, want %q", err, c.problem)
		})
	}
}

func TestRedacted_masks_what_looks_like_a_secret(t *testing.T) {
	cfg := minimal(t, `
enrich:
  - {name: a, http: {url: "https://a.example/x?api_key=abc123&q={id}&sig=s&access_token={properties.token}"}, set: {a: /a}}
  - {name: b, providers: [{name: c, http: {url: "https://a.example/x?api_key=abc123&q={id}&sig=s&access_token={properties.token}"}}], set: {a: /a}}
`)
	const want = "https://a.example/x?api_key=[redacted]&q={id}&sig=[redacted]&access_token={properties.token}"
	expect.Equal(t, cfg.Redacted().Enrich[0].HTTP.URL, want)
	expect.Equal(t, cfg.Redacted().Enrich[1].Providers[0].HTTP.URL, want)
	expect.That(t, !strings.Contains(cfg.Enrich[1].Providers[0].HTTP.URL, redacted) && !strings.Contains(cfg.Enrich[0].HTTP.URL, redacted), "the configuration itself was changed")
	warnings := Warnings(cfg)
	expect.That(t, len(warnings) == 2 && warnings[1].Path == "enrich[1].providers[0].http.url" && warnings[0].Path == "enrich[0].http.url" && !strings.Contains(warnings[0].Message, "abc123"),
		"got %+v", warnings)
}

// The words of a key are those of the package that acts on it; the tags only repeat them, for the decoder and the schema.
func TestKeys_takeTheWordsOfTheirPackages(t *testing.T) {
	data := slices.DeleteFunc(envelope.Formats(), func(f envelope.Format) bool { return f == envelope.CloudEvents })
	const rules, chosen = "pipeline.retry_policy.rules[].", "pipeline.retry_policy."
	want := map[string][]string{
		"source.format": texts(envelope.Formats()), "source.split": texts(envelope.Splits()), "source.row.geometry_format": texts(envelope.GeometryFormats()),
		"source.jsonfg.unsupported": texts(envelope.Unsupporteds()), "source.cloudevents.data": texts(data),
		"source.debezium.serialization": texts(envelope.Serializations()),
		rules + "stage":                 texts(classify.Stages()), rules + "class": texts(classify.Classes()), rules + "category": texts(classify.RetriedCategories()), rules + "alert": texts(classify.Alerts()),
	}
	walkType("", reflect.TypeFor[Config](), func(path string, k key) {
		words, checked := want[path]
		expect.That(t, !checked || slices.Equal(slices.Sorted(slices.Values(k.rules.words)), slices.Sorted(slices.Values(words))), "%s takes %q, want %q", path, k.rules.words, words)
		delete(want, path)
	})
	expect.That(t, len(want) == 0, "no such keys: %v", want)
	for name, c := range map[string][2][]string{
		chosen + "strategy": {texts(Strategies()), texts(policy.Strategies())}, chosen + "preset": {texts(Presets()), texts(policy.Presets())},
	} {
		expect.That(t, slices.Equal(c[0], c[1]), "%s takes %v, the engine %v", name, c[0], c[1])
	}
}

func TestSchemaRegistry_urls(t *testing.T) {
	r := SchemaRegistry{URL: " https://a:8081/ ,https://b:8081/registry"}
	expect.Equal(t, strings.Join(r.URLs(), " "), "https://a:8081 https://b:8081/registry")
	expect.That(t, !(SchemaRegistry{}).Enabled() && len(SchemaRegistry{}.URLs()) == 0, "there is a registry without a URL")
}

// Secrets of the registry come from where the file says, and an error names the place and never what it holds.
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
		t.Run(c.name, func(t *testing.T) {
			got, err := c.r.Credentials()
			must.That(t, (err == nil) == (c.fails == "") && (err == nil || strings.Contains(err.Error(), c.fails) && !strings.Contains(err.Error(), theSecret)),
				"got the error %v, want %q", err, c.fails)
			expect.That(t, err != nil || got.Username == c.username && got.Password.Reveal() == c.password && got.Token.Reveal() == c.token,
				"got %q, %q, %q", got.Username, got.Password.Reveal(), got.Token.Reveal())
		})
	}
}
