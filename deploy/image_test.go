package deploy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// dockerfile is the Dockerfile with continued lines joined.
func dockerfile(t *testing.T) string {
	t.Helper()
	text := must.Get(os.ReadFile("Dockerfile"))(t)
	return regexp.MustCompile(`\\\n\s*`).ReplaceAllString(string(text), "")
}

// mostConsumer is how large the consumer of an image may be, in bytes. The SQL engine of the index, by which the demo's replay chooses, is
// 5 million of them (decision 0165).
const mostConsumer = 50_000_000

// An image says which commit it is made of: by .git in its context, or by arguments of the build.
func TestImage_saysItsVersionAndCommit(t *testing.T) {
	text := dockerfile(t)
	flags := regexp.MustCompile(`-ldflags="([^"]+)"`).FindStringSubmatch(text)
	must.That(t, flags != nil && strings.Contains(text, "\nARG VERSION=\n") && strings.Contains(text, "\nARG COMMIT=\n"), "no arguments VERSION and COMMIT, or no linker flags:\n%s", text)
	const commit = "0123456789abcdef0123456789abcdef01234567"
	ldflags := strings.NewReplacer("${VERSION}", "v1.2.3", "${COMMIT}", commit).Replace(flags[1])
	binary := filepath.Join(t.TempDir(), "consumer")
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags", ldflags, "-o", binary, "../cmd/consumer")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.CommandContext(t.Context(), binary, "--version").CombinedOutput()
	want := "consumer v1.2.3 (commit 0123456789ab, go"
	expect.That(t, err == nil && strings.HasPrefix(string(out), want), "%v: %q, want %q…", err, out, want)
	if info, err := os.Stat(binary); err != nil || info.Size() > mostConsumer {
		t.Errorf("the consumer has %d bytes, at most %d are wanted (%v): what does it link that it does not need?", info.Size(), mostConsumer, err)
	}
	ignored := must.Get(os.ReadFile("../.dockerignore"))(t)
	expect.That(t, !slices.Contains(strings.Fields(string(ignored)), ".git"), ".dockerignore keeps .git out of the context: an image without arguments would not know its commit")
	for name, s := range compose(t).Services {
		if s.Build != nil && (s.Build.Args["VERSION"] != "${VERSION:-}" || s.Build.Args["COMMIT"] != "${COMMIT:-}") {
			t.Errorf("service %s passes no VERSION and COMMIT to its build: %v", name, s.Build.Args)
		}
	}
}
