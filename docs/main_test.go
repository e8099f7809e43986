package docs_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/proc"
)

// binaries is the folder in which consumer and replayer were built once for all tests.
var binaries string

func TestMain(m *testing.M) { os.Exit(build(m)) }

func build(m *testing.M) int {
	var err error
	if binaries, err = os.MkdirTemp("", "switchback-docs-"); err != nil {
		fmt.Fprintln(os.Stderr, "docs:", err)
		return 1
	}
	defer os.RemoveAll(binaries)
	if _, err := proc.Build(context.Background(), binaries, "consumer", "replayer"); err != nil {
		fmt.Fprintln(os.Stderr, "docs: build the commands:", err)
		return 1
	}
	return m.Run()
}
