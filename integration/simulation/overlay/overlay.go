package overlay

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed kfake/*.patch go/*.patch
var patches embed.FS

const kfakeModule = "github.com/twmb/franz-go/pkg/kfake"

// Build describes how the simulation is built.
type Build struct {
	Flags []string // of `go build`
	// Unrepeatable is the reason why runs of the same plan may differ. It is nil if they are identical.
	Unrepeatable error
}

// Prepare creates patched copies in dir and returns the build flags. It must be called in a folder of the module, and
// runs go and git.
//
// Files of the module cache cannot be replaced with -overlay. Prepare therefore replaces kfake as a module, in a copy of
// go.mod that only this build reads. Go's own runtime is replaced with -overlay. If its patch does not fit the Go
// version, Prepare still succeeds, but a seed repeats only the plan and not the run.
func Prepare(ctx context.Context, dir string) (Build, error) {
	mod, err := prepareKfake(ctx, dir)
	if err != nil {
		return Build{}, err
	}
	build := Build{Flags: []string{"-trimpath", "-modfile=" + mod}} // without paths, the build cache serves any dir
	overlay, err := prepareRuntime(ctx, dir)
	if err != nil {
		build.Unrepeatable = err
		return build, nil //nolint:nilerr // it is said
	}
	build.Flags = append(build.Flags, "-overlay="+overlay)
	return build, nil
}

func prepareKfake(ctx context.Context, dir string) (string, error) {
	to := filepath.Join(dir, "kfake")
	from, err := run(ctx, "", "go", "list", "-m", "-f", "{{.Dir}}", kfakeModule)
	if err != nil {
		return "", err
	}
	if err := copyGo(from, to); err != nil {
		return "", fmt.Errorf("copy kfake: %w", err)
	}
	if err := apply(ctx, "kfake", 3, to); err != nil { // the patches' paths begin with a/pkg/kfake
		return "", err
	}
	return modFile(ctx, dir, to)
}

func prepareRuntime(ctx context.Context, dir string) (string, error) {
	root, err := run(ctx, "", "go", "env", "GOROOT")
	if err != nil {
		return "", err
	}
	to := filepath.Join(dir, "go")
	const folder = "src/runtime"
	if err := copyGo(filepath.Join(root, folder), filepath.Join(to, folder)); err != nil {
		return "", fmt.Errorf("copy the runtime: %w", err)
	}
	if err := apply(ctx, "go", 1, to); err != nil {
		return "", err
	}
	files, err := os.ReadDir(filepath.Join(to, folder))
	if err != nil {
		return "", err
	}
	replace := map[string]string{}
	for _, file := range files {
		name := filepath.Join(folder, file.Name())
		before, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return "", err
		}
		after, err := os.ReadFile(filepath.Join(to, name))
		if err != nil {
			return "", err
		}
		if !bytes.Equal(before, after) {
			replace[filepath.Join(root, name)] = filepath.Join(to, name)
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, text, 0o600)
}

// copyGo copies the files of a module that are compiled.
func copyGo(from, to string) error {
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	files, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, file := range files {
		name := file.Name()
		if name != "go.mod" && (!strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go")) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, name), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// apply applies the patches of a folder to the files in dir.
func apply(ctx context.Context, folder string, strip int, dir string) error {
	names, err := fs.Glob(patches, folder+"/*.patch")
	if err != nil {
		return err
	}
	slices.Sort(names)
	for _, name := range names {
		text, err := patches.ReadFile(name)
		if err != nil {
			return err
		}
		file := filepath.Join(dir, path.Base(name))
		if err := os.WriteFile(file, text, 0o600); err != nil {
			return err
		}
		// The patches contain tests for upstream. The copies have no tests.
		_, err = run(ctx, dir, "git", "apply", fmt.Sprint("-p", strip), "--exclude=*_test.go", file)
		if err != nil {
			return fmt.Errorf("%s does not fit the version in go.mod (is it upstream by now?): %w", name, err)
		}
	}
	return nil
}

// modFile copies go.mod and go.sum into dir, with kfake replaced by a folder.
func modFile(ctx context.Context, dir, kfake string) (string, error) {
	original, err := run(ctx, "", "go", "env", "GOMOD")
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(original)
	if err != nil {
		return "", err
	}
	text = fmt.Appendf(text, "\nreplace %s => %s\n", kfakeModule, kfake)
	mod := filepath.Join(dir, "go.mod")
	if err := os.WriteFile(mod, text, 0o600); err != nil {
		return "", err
	}
	sums, err := os.ReadFile(filepath.Join(filepath.Dir(original), "go.sum"))
	if err != nil {
		return "", err
	}
	return mod, os.WriteFile(filepath.Join(dir, "go.sum"), sums, 0o600)
}

func run(ctx context.Context, dir, command string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, command, args...)
	cmd.Dir = dir
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	cmd.Env = append(os.Environ(), "GIT_DIR="+os.DevNull) // the files belong to no repository
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", command, strings.Join(args, " "), err, bytes.TrimSpace(stderr.Bytes()))
	}
	return strings.TrimSpace(out.String()), nil
}
