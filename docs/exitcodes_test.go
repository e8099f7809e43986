package docs_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// The manual has every exit code with the meaning that both programs print.
func TestExitCodes_areThoseOfTheManual(t *testing.T) {
	manual := must.Get(os.ReadFile("replayer.md"))(t)
	for _, e := range cli.Exits() {
		row := fmt.Sprintf("| %d | %s |", e, e.Meaning())
		expect.That(t, strings.Contains(string(manual), row), "replayer.md has no row %q", row)
	}
}
