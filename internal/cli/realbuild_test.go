package cli

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

// program prints the Build of a module that has this package's file as its own.
const program = `package main

import (
	"encoding/json"
	"os"

	"example.test/m/cli"
)

func main() { json.NewEncoder(os.Stdout).Encode(cli.ReadBuild()) }
`

// command runs a command in a folder, and returns what it prints without the last line break.
func command(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-buildvcs=auto", "GOWORK=off", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return strings.TrimSuffix(string(out), "\n")
}

// module is a repository with one commit and the tag v1.2.3.
func module(t *testing.T) (dir, commit string) {
	t.Helper()
	text, err := os.ReadFile("build.go")
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	for name, text := range map[string]string{"go.mod": "module example.test/m\n\ngo 1.26\n", "main.go": program, "cli/build.go": string(text)} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	command(t, dir, "git", "init", "-q")
	command(t, dir, "git", "add", ".")
	command(t, dir, "git", "-c", "user.name=t", "-c", "user.email=t@example.test", "commit", "-q", "-m", "one")
	command(t, dir, "git", "tag", "v1.2.3")
	return dir, command(t, dir, "git", "rev-parse", "HEAD")
}

func built(t *testing.T, dir string, args ...string) (info Build) {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "m")
	command(t, dir, "go", append(append([]string{"build", "-o", binary}, args...), ".")...)
	if err := json.Unmarshal([]byte(command(t, dir, binary)), &info); err != nil {
		t.Fatal(err)
	}
	return info
}

// What the toolchain and the linker really write is what ReadBuild finds.
func TestRead_ofRealBuilds(t *testing.T) {
	testrun.Nightly(t) // deploy builds a command with its linker flags
	dir, commit := module(t)
	if got := built(t, dir); got.Version != "v1.2.3" || got.Commit != commit || got.Modified || got.Time == "" {
		t.Errorf("a checkout at a tag: %+v, want commit %s", got, commit)
	}
	if got := built(t, dir, "-buildvcs=false"); got.Version != "(devel)" || got.Commit != "" {
		t.Errorf("without version control: %+v", got)
	}
	flags := "-ldflags=-X example.test/m/cli.stampedVersion=v9 -X example.test/m/cli.stampedCommit=" + full
	if got := built(t, dir, "-buildvcs=false", flags); got.Version != "v9" || got.Commit != full {
		t.Errorf("named by the builder: %+v", got)
	}
	empty := "-ldflags=-X example.test/m/cli.stampedVersion= -X example.test/m/cli.stampedCommit="
	if got := built(t, dir, empty); got.Version != "v1.2.3" || got.Commit != commit {
		t.Errorf("the builder names nothing: %+v", got)
	}
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(program+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := built(t, dir); !got.Modified || got.Commit != commit || !strings.HasPrefix(got.Version, "v1.2.3+dirty") && !strings.HasPrefix(got.Version, "v1.2.4-0.") {
		t.Errorf("a checkout with changes: %+v", got)
	}
}
