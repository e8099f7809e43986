package pipelinefile

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/config"
)

// Every variable that begins with SWITCHBACK_ and overrides no key is a fault, unless it is listed.
func TestVariable_isNoFaultOfTheFile(t *testing.T) {
	if !slices.Contains(config.OtherVariables(), Variable) {
		t.Errorf("%s is not among %v", Variable, config.OtherVariables())
	}
}

func TestChoose(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"a.yaml", "b.yaml"} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	whole, err := filepath.Abs("a.yaml")
	if err != nil {
		t.Fatal(err)
	}
	a, b, empty, gone := "a.yaml", "b.yaml", "", "gone.yaml"
	for _, c := range []struct {
		name  string
		named Named
		want  Choice
		err   string
	}{
		{"by the flag", Named{Flag: &a}, Choice{a, "-c"}, ""},
		{"by an argument", Named{Argument: &a}, Choice{a, "the argument"}, ""},
		{"by the environment", Named{Environment: a}, Choice{a, "SWITCHBACK_CONFIG"}, ""},
		{"by all three", Named{&a, &a, a}, Choice{a, "-c"}, ""},
		{"one file by two names", Named{Flag: &a, Environment: whole}, Choice{a, "-c"}, ""},
		{"one file that is not there", Named{Flag: &gone, Environment: "./gone.yaml"}, Choice{gone, "-c"}, ""},
		{"none", Named{}, Choice{}, "no pipeline file is named"},
		{"flag and argument differ", Named{Flag: &a, Argument: &b}, Choice{}, `"a.yaml" by -c and "b.yaml" by the argument`},
		{"flag and environment differ", Named{Flag: &a, Environment: b}, Choice{}, `"a.yaml" by -c and "b.yaml" by SWITCHBACK_CONFIG`},
		{"argument and environment differ", Named{Argument: &a, Environment: b}, Choice{}, `"a.yaml" by the argument and "b.yaml" by SWITCHBACK_CONFIG`},
		{"the third differs", Named{&a, &a, b}, Choice{}, "two pipeline files"},
		{"one of two is not there", Named{Flag: &a, Environment: gone}, Choice{}, "two pipeline files"},
		{"an empty flag is no choice for the environment", Named{Flag: &empty, Environment: a}, Choice{}, "-c names an empty pipeline file"},
		{"an empty argument", Named{Argument: &empty}, Choice{}, "the argument names an empty pipeline file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := c.named.Choose()
			if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("got %+v, %v; want %+v, %q", got, err, c.want, c.err)
			}
		})
	}
	if _, err := (Named{}).Choose(); !errors.Is(err, ErrNone) {
		t.Errorf("of none: %v", err)
	}
}
