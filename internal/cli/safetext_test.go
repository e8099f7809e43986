package cli_test

import (
	"testing"

	"github.com/switchback-geo/switchback/internal/cli"
)

func TestClean_leavesNothingThatSteersATerminal(t *testing.T) {
	for _, c := range []struct {
		in, line, lines string
	}{
		{"Größe\tx\ny", "Größe x y", "Größe\tx\ny"},
		{"\x1b[31mred\a", "\uFFFD[31mred\uFFFD", "\uFFFD[31mred\uFFFD"},
		{"a\u202eb\u200bc\r", "a\uFFFDb\uFFFDc\uFFFD", "a\uFFFDb\uFFFDc\uFFFD"},
	} {
		if got := cli.CleanText(c.in, cli.OneLine); got != c.line {
			t.Errorf("%q on one line: %q, want %q", c.in, got, c.line)
		}
		if got := cli.CleanText(c.in, cli.KeepLines); got != c.lines {
			t.Errorf("%q: %q, want %q", c.in, got, c.lines)
		}
	}
}
