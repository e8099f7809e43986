package config

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/must"
)

const referenceFile = "../../deploy/config.reference.yaml"

func readReference(t *testing.T) string {
	t.Helper()
	text := must.Get(os.ReadFile(referenceFile))(t)
	return string(text)
}

// mustParse reads a configuration that has to be right.
func mustParse(t *testing.T, text string) *Config {
	t.Helper()
	return must.Get(Parse("test.yaml", []byte(text), nil))(t)
}

// values is the configuration without the places where it was written.
func values(cfg *Config) Config {
	out := *cfg
	out.origins = nil
	return out
}

func TestReference_S0_3_equals_the_defaults(t *testing.T) {
	minimal := must.Get(os.ReadFile("testdata/minimal.yaml"))(t)
	reference := values(mustParse(t, readReference(t)))
	if want := values(mustParse(t, string(minimal))); !reflect.DeepEqual(reference, want) {
		t.Errorf("the reference file differs from the defaults\nreference: %#v\n defaults: %#v", reference, want)
	}
}

func TestReference_shows_every_key(t *testing.T) {
	minimal := must.Get(os.ReadFile("testdata/minimal.yaml"))(t)
	shown := keysIn(mustParse(t, readReference(t)))
	examples := examplesOf(readReference(t))
	if len(examples) < 4 {
		t.Fatalf("found only %d examples", len(examples))
	}
	for _, example := range examples {
		if !strings.HasPrefix(example, "pipeline:") { // a file of its own
			example = string(minimal) + example
		}
		shown = append(shown, keysIn(mustParse(t, example))...)
	}
	for _, path := range Paths() {
		if !slices.Contains(shown, path) {
			t.Errorf("%s is missing", path)
		}
	}
}

// keysIn lists the keys that a file writes, in the form of [Paths].
func keysIn(cfg *Config) []string {
	index := regexp.MustCompile(`\[\d+\]`)
	var out []string
	for path := range cfg.origins.places {
		out = append(out, index.ReplaceAllString(path, "[]"))
	}
	return out
}

// examplesOf gives the commented-out parts after a line "# Example:", ready to be read.
func examplesOf(text string) []string {
	var out []string
	inside := false
	for line := range strings.SplitSeq(text, "\n") {
		comment, isComment := strings.CutPrefix(strings.TrimSpace(line), "# ")
		switch {
		case isComment && comment == "Example:":
			out = append(out, "")
			inside = true
		case isComment && inside:
			out[len(out)-1] += comment + "\n"
		default:
			inside = false
		}
	}
	return out
}
