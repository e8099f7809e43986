package cli_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
)

// S2-7: nothing is drawn beyond the terminal, and no text steers it.
func TestFit_S2_7_nothingBeyondTheTerminal(t *testing.T) {
	lines := cli.FitScreen(strings.Repeat("a line that is long\n", 30)+"\x1b[2Jthe end\n", 10, 8)
	expect.That(t, len(lines) == 7 && strings.HasPrefix(lines[6], "… 25 line"), "%q", lines)
	for _, line := range lines {
		n := len([]rune(line))
		expect.That(t, n <= 10, "%d columns: %q", n, line)
	}
	got := cli.FitScreen("a\x1b[2Jb\n", 0, 0)
	expect.That(t, len(got) == 1 && !strings.Contains(got[0], "\x1b"), "%q", got)
	got = cli.FitScreen("a\nb\n", 80, 24)
	expect.That(t, reflect.DeepEqual(got, []string{"a", "b"}), "%q", got)
}

func ExampleStaleLine() {
	at := time.Date(2026, 11, 24, 3, 0, 0, 0, time.UTC)
	fmt.Print(cli.StaleLine(at, at.Add(5*time.Second), errors.New("the broker\ndoes not answer")))
	// Output: NOT NEW, of 5s ago: the broker does not answer
}

func TestClean_leavesNothingThatSteersATerminal(t *testing.T) {
	for _, c := range []struct {
		in, line, lines string
	}{
		{"Größe\tx\ny", "Größe x y", "Größe\tx\ny"},
		{"\x1b[31mred\a", "\uFFFD[31mred\uFFFD", "\uFFFD[31mred\uFFFD"},
		{"a\u202eb\u200bc\r", "a\uFFFDb\uFFFDc\uFFFD", "a\uFFFDb\uFFFDc\uFFFD"},
	} {
		expect.Equal(t, cli.CleanText(c.in, cli.OneLine), c.line, c.in, "on one line")
		expect.Equal(t, cli.CleanText(c.in, cli.KeepLines), c.lines, c.in)
	}
}
