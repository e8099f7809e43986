package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/switchback-geo/switchback/internal/testkit/must"
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
	if err != nil || secret.Reveal() != theSecret {
		t.Fatalf("the secret that must not print was not read: %v", err)
	}
	for _, v := range []any{cfg, *cfg, cfg.Redacted(), cfg.Kafka} {
		for how, text := range printed(t, v) {
			if strings.Contains(text, theSecret) {
				t.Errorf("%s of %T shows the secret", how, v)
			}
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
			if strings.Contains(text, theSecret) || strings.Contains(text, asHex) {
				t.Errorf("%s of %T shows the secret: %s", how, v, text)
			}
		}
	}
	for _, how := range []string{"%v", "%#v", "JSON", "YAML", "slog text", "slog JSON"} {
		if text := printed(t, s)[how]; !strings.Contains(text, redacted) {
			t.Errorf("%s: %s", how, text)
		}
	}
	if s.Reveal() != theSecret || (Secret{}).Reveal() != "" {
		t.Error("Reveal must give the value, and nothing of the zero Secret")
	}
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
			if user != c.user || password.Reveal() != c.password {
				t.Errorf("got %q, %q", user, password.Reveal())
			}
			if (err == nil) != (c.problem == "") || err != nil && !strings.Contains(err.Error(), c.problem) {
				t.Errorf("got error %v, want %q", err, c.problem)
			}
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
	if got := cfg.Redacted().Enrich[0].HTTP.URL; got != want {
		t.Errorf("got %s", got)
	}
	if got := cfg.Redacted().Enrich[1].Providers[0].HTTP.URL; got != want {
		t.Errorf("got %s of a provider", got)
	}
	if strings.Contains(cfg.Enrich[1].Providers[0].HTTP.URL, redacted) || strings.Contains(cfg.Enrich[0].HTTP.URL, redacted) {
		t.Error("the configuration itself was changed")
	}
	warnings := Warnings(cfg)
	if len(warnings) != 2 || warnings[1].Path != "enrich[1].providers[0].http.url" || warnings[0].Path != "enrich[0].http.url" || strings.Contains(warnings[0].Message, "abc123") {
		t.Errorf("got %+v", warnings)
	}
}
