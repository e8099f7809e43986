package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// called runs a command line, with the code and what it printed.
func called(t *testing.T, args ...string) (code cli.Exit, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(args, &out, &errs)
	return code, out.String(), errs.String()
}

// S0-2: a file that init writes from real features passes validate, is not overwritten unawares, and says where it came from.
func TestInit_S0_2(t *testing.T) {
	dir := t.TempDir()
	features, file := filepath.Join(dir, "Parcels of 2026.ndjson"), filepath.Join(dir, "pipeline.yaml")
	text := `{"type":"Feature","id":"a","properties":{"n":1},"geometry":{"type":"Point","coordinates":[1,2]}}` + "\n"
	must.Do(t, os.WriteFile(features, []byte(text), 0o600))
	code, stdout, stderr := called(t, "init", features, "--out", file)
	must.That(t, code == cli.ExitDone && stdout == "" && strings.Contains(stderr, "from 1 feature"), "%d %s %s", code, stdout, stderr)
	code, _, stderr = called(t, "validate", "-c", file)
	expect.That(t, code == cli.ExitDone, "validate: %d %s", code, stderr)
	written, err := os.ReadFile(file)
	expect.That(t, err == nil && strings.Contains(string(written), `id: "parcels-of-2026"`) && strings.Contains(string(written), "1 feature of Parcels of 2026.ndjson"),
		"%v\n%s", err, written)
	code, _, stderr = called(t, "init", features, "--out", file)
	expect.That(t, code == cli.ExitUsage && strings.Contains(stderr, "--force overwrites it"), "over a file: %d %s", code, stderr)
	code, _, stderr = called(t, "init", features, "--out", file, "--force", "--id", "other", "--topic", "t")
	expect.That(t, code == cli.ExitDone, "--force: %d %s", code, stderr)
	code, stdout, _ = called(t, "init", features, "--brokers", "k1:9092,k2:9092")
	expect.That(t, code == cli.ExitDone && strings.Contains(stdout, `brokers: ["k1:9092", "k2:9092"]`), "to standard output: %d %s", code, stdout)
	code, _, stderr = called(t, "init", features, "--out", features, "--force")
	expect.That(t, code == cli.ExitUsage && strings.Contains(stderr, "is the sample itself"), "over the sample: %d %s", code, stderr)
	kept, err := os.ReadFile(features)
	expect.That(t, err == nil && string(kept) == text, "the sample is %q now (%v)", kept, err)
	metres := filepath.Join(dir, "metres.ndjson")
	must.Do(t, os.WriteFile(metres, []byte(strings.Replace(text, "[1,2]", "[2600000,1200000]", 1)), 0o600))
	code, _, stderr = called(t, "init", metres)
	expect.That(t, code == cli.ExitDone && strings.Contains(stderr, "it refuses 1 of 1 feature of the sample, the first: "), "a sample that the file refuses: %d %s", code, stderr)
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"no sample":     {[]string{"init"}, "takes one argument"},
		"two samples":   {[]string{"init", features, features}, "takes one argument"},
		"not there":     {[]string{"init", filepath.Join(dir, "none")}, "no such file"},
		"no features":   {[]string{"init", file}, "invalid character"},
		"no id":         {[]string{"init", features, "--id", "a b"}, "pipeline.id"},
		"no topic name": {[]string{"init", features, "--topic", "a b"}, "source.topic"},
	} {
		code, stdout, stderr := called(t, c.args...)
		expect.That(t, code == cli.ExitUsage && stdout == "" && strings.Contains(stderr, c.says), "%s: %d %q %s", name, code, stdout, stderr)
	}
}
