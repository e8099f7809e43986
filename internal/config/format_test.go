package config

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/envelope"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

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
		if checked && !slices.Equal(slices.Sorted(slices.Values(k.rules.words)), slices.Sorted(slices.Values(words))) {
			t.Errorf("%s takes %q, want %q", path, k.rules.words, words)
		}
		delete(want, path)
	})
	if len(want) > 0 {
		t.Errorf("no such keys: %v", want)
	}
	for name, c := range map[string][2][]string{
		chosen + "strategy": {texts(Strategies()), texts(policy.Strategies())}, chosen + "preset": {texts(Presets()), texts(policy.Presets())},
	} {
		if !slices.Equal(c[0], c[1]) {
			t.Errorf("%s takes %v, the engine %v", name, c[0], c[1])
		}
	}
}

func TestSchemaRegistry_urls(t *testing.T) {
	r := SchemaRegistry{URL: " https://a:8081/ ,https://b:8081/registry"}
	if got := strings.Join(r.URLs(), " "); got != "https://a:8081 https://b:8081/registry" {
		t.Errorf("got %q", got)
	}
	if (SchemaRegistry{}).Enabled() || len(SchemaRegistry{}.URLs()) != 0 {
		t.Error("there is a registry without a URL")
	}
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
			if (err == nil) != (c.fails == "") || err != nil && (!strings.Contains(err.Error(), c.fails) || strings.Contains(err.Error(), theSecret)) {
				t.Fatalf("got the error %v, want %q", err, c.fails)
			}
			if err == nil && (got.Username != c.username || got.Password.Reveal() != c.password || got.Token.Reveal() != c.token) {
				t.Errorf("got %q, %q, %q", got.Username, got.Password.Reveal(), got.Token.Reveal())
			}
		})
	}
}
