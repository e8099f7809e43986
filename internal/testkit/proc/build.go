package proc

import (
	"bytes"
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

// EnvCommands names a folder with built commands. .ci/run builds them once for all packages.
const EnvCommands = "SWITCHBACK_TEST_COMMANDS"

// Build compiles the named commands of cmd/ and creates links to them in dir, with the race detector if the test itself
// has it. The commands stay in the cache of the go command, which links them once for all tests. An error contains the
// compiler's output. Without the race detector, Build uses the commands in the folder SWITCHBACK_TEST_COMMANDS if it is
// set.
func Build(ctx context.Context, dir string, names ...string) (Binaries, error) {
	root, err := moduleRoot(ctx)
	if err != nil {
		return nil, err
	}
	if err := statSources(root); err != nil {
		return nil, err
	}
	find := cached
	if os.Getenv(EnvCommands) != "" && !raceEnabled {
		find = prebuilt
	}
	built := Binaries{}
	for _, name := range names {
		command, err := find(ctx, root, name)
		if err != nil {
			return nil, err
		}
		built[name] = filepath.Join(dir, name)
		if err := os.Symlink(command, built[name]); err != nil {
			return nil, err
		}
	}
	return built, nil
}

// prebuilt returns a command in the folder of SWITCHBACK_TEST_COMMANDS.
func prebuilt(_ context.Context, _, name string) (string, error) {
	command, err := filepath.Abs(filepath.Join(os.Getenv(EnvCommands), name))
	if err == nil {
		_, err = os.Stat(command)
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", EnvCommands, err)
	}
	return command, nil
}

// cached compiles a command and returns its path in the cache of the go command. `go run` caches what it links. The
// first time, it runs the program from a temporary folder, and later from the cache.
func cached(ctx context.Context, root, name string) (string, error) {
	command, err := compiled(ctx, root, name)
	if err != nil || exists(command) {
		return command, err
	}
	return compiled(ctx, root, name)
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// compiled returns the path from which `go run` runs a command.
func compiled(ctx context.Context, root, name string) (string, error) {
	args := []string{"run", "-exec", "echo"}
	if raceEnabled {
		args = append(args, "-race")
	}
	args = append(args, "./cmd/"+name)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = root
	var says bytes.Buffer
	cmd.Stderr = &says
	path, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, says.Bytes())
	}
	return strings.TrimSpace(string(path)), nil
}

// moduleRoot returns the folder of the module's go.mod.
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

// statSources reads the metadata of every source file of the commands. `go test` caches results by the files that a
// test has read. A test that runs a command as a process does not import it, so without this a cached "ok" would
// outlive a change of the command.
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
			return fmt.Errorf("read the metadata of the sources: %w", err)
		}
	}
	return nil
}
