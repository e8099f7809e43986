package demo

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/switchback-geo/switchback/internal/replay/plan"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
)

// Two causes that differ only at their end are shown differently, within the width of a terminal.
func TestReport_shows_where_causes_differ(t *testing.T) {
	const cause = "a ring has 3 positions, fewer than four at /geometry/coordinates/0"
	text := dryRun(plan.Summary{}, []plan.Outcome{
		{Count: 15, Died: "geometry_structure", Action: plan.Reinject, Message: cause + "/1"},
		{Count: 4, Died: "geometry_structure", Action: plan.Reinject, Message: cause},
	})
	expect.That(t, strings.Contains(text, "/geometry/coordinates/0/1\n") && strings.Contains(text, "/geometry/coordinates/0\n"), "%s", text)
	for line := range strings.Lines(text) {
		expect.That(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) <= width, "wider than %d columns: %s", width, line)
	}
}
