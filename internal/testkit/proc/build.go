package proc

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Binaries are the built commands by their name ("consumer" for ./cmd/consumer).
type Binaries map[string]string

// EnvCommands names a folder with commands that are built already. .ci/run builds them once for all packages.
const EnvCommands = "SWITCHBACK_TEST_COMMANDS"

// Build compiles the named commands of cmd/ into dir, with the race detector if the test itself has it. An error holds
// the compiler's output. Without the race detector, Build takes the commands from the folder in SWITCHBACK_TEST_COMMANDS
// if it is set, and makes links to them in dir.
func Build(ctx context.Context, dir string, names ...string) (Binaries, error) {
	root, err := moduleRoot(ctx)
	if err != nil {
		return nil, err
	}
	if err := statSources(root); err != nil {
		return nil, err
	}
	if from := os.Getenv(EnvCommands); from != "" && !raceEnabled {
		return prebuilt(from, dir, names)
	}
	args := []string{"build", "-o", dir + string(os.PathSeparator)}
	if raceEnabled {
		args = append(args, "-race")
	}
	built := Binaries{}
	for _, name := range names {
		args = append(args, "./cmd/"+name)
		built[name] = filepath.Join(dir, name)
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return built, nil
}

// prebuilt links the commands of a folder into dir.
func prebuilt(from, dir string, names []string) (Binaries, error) {
	built := Binaries{}
	for _, name := range names {
		command, err := filepath.Abs(filepath.Join(from, name))
		if err != nil {
			return nil, err
		}
		if _, err := os.Stat(command); err != nil {
			return nil, fmt.Errorf("%s=%s: %w", EnvCommands, from, err)
		}
		built[name] = filepath.Join(dir, name)
		if err := os.Symlink(command, built[name]); err != nil {
			return nil, err
		}
	}
	return built, nil
}

// moduleRoot is the folder of the module's go.mod.
func moduleRoot(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOMOD: %w", err)
	}
	mod := strings.TrimSpace(string(out))
	if mod == "" || mod == os.DevNull {
		return "", fmt.Errorf("go env GOMOD: not inside a module")
	}
	return filepath.Dir(mod), nil
}

// statSources looks at every file the commands are made of. `go test` caches a
// result by the files a test looked at; a test that runs a command as a process
// does not import it, so without this an old "ok" would outlive a change of it.
func statSources(root string) error {
	for _, top := range []string{"go.mod", "go.sum", "cmd", "internal", "pkg", "schemas", "examples"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || strings.HasSuffix(path, "_test.go") {
				return err
			}
			_, err = os.Stat(path)
			return err
		})
		if err != nil && !os.IsNotExist(err) {
			return fmt.Errorf("look at the sources: %w", err)
		}
	}
	return nil
}
