package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/must"
)

func TestChoose(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"a.yaml", "b.yaml"} {
		must.Do(t, os.WriteFile(name, nil, 0o600))
	}
	whole := must.Get(filepath.Abs("a.yaml"))(t)
	a, b, empty, gone := "a.yaml", "b.yaml", "", "gone.yaml"
	for _, c := range []struct {
		name  string
		named NamedPipelineFile
		want  PipelineFile
		err   string
	}{
		{"by the flag", NamedPipelineFile{Flag: &a}, PipelineFile{a, "-c"}, ""},
		{"by an argument", NamedPipelineFile{Argument: &a}, PipelineFile{a, "the argument"}, ""},
		{"by the environment", NamedPipelineFile{Environment: a}, PipelineFile{a, "SWITCHBACK_CONFIG"}, ""},
		{"by all three", NamedPipelineFile{&a, &a, a}, PipelineFile{a, "-c"}, ""},
		{"one file by two names", NamedPipelineFile{Flag: &a, Environment: whole}, PipelineFile{a, "-c"}, ""},
		{"one file that is not there", NamedPipelineFile{Flag: &gone, Environment: "./gone.yaml"}, PipelineFile{gone, "-c"}, ""},
		{"none", NamedPipelineFile{}, PipelineFile{}, "no pipeline file is named"},
		{"flag and argument differ", NamedPipelineFile{Flag: &a, Argument: &b}, PipelineFile{}, `"a.yaml" by -c and "b.yaml" by the argument`},
		{"flag and environment differ", NamedPipelineFile{Flag: &a, Environment: b}, PipelineFile{}, `"a.yaml" by -c and "b.yaml" by SWITCHBACK_CONFIG`},
		{"argument and environment differ", NamedPipelineFile{Argument: &a, Environment: b}, PipelineFile{}, `"a.yaml" by the argument and "b.yaml" by SWITCHBACK_CONFIG`},
		{"the third differs", NamedPipelineFile{&a, &a, b}, PipelineFile{}, "two pipeline files"},
		{"one of two is not there", NamedPipelineFile{Flag: &a, Environment: gone}, PipelineFile{}, "two pipeline files"},
		{"an empty flag is no choice for the environment", NamedPipelineFile{Flag: &empty, Environment: a}, PipelineFile{}, "-c names an empty pipeline file"},
		{"an empty argument", NamedPipelineFile{Argument: &empty}, PipelineFile{}, "the argument names an empty pipeline file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := c.named.Choose()
			if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("got %+v, %v; want %+v, %q", got, err, c.want, c.err)
			}
		})
	}
	if _, err := (NamedPipelineFile{}).Choose(); !errors.Is(err, ErrNoPipelineFile) {
		t.Errorf("of none: %v", err)
	}
}
