package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

func TestOf(t *testing.T) {
	for _, c := range []struct {
		name    string
		execute bool // the command has it
		args    []string
		want    string
	}{
		{"a dry run is the default", true, []string{"--dry-run"}, "a dry run is the default: leave --dry-run out; --execute makes the change"},
		{"with a value", true, []string{"--dry-run=false"}, "a dry run is the default: leave --dry-run out; --execute makes the change"},
		{"a command that changes at once has none", false, []string{"--dry-run"}, ""},
		{"a typing error", true, []string{"--exceute"}, "did you mean --execute?"},
		{"a flag of all commands", false, []string{"--confg", "f"}, "did you mean --config?"},
		{"a beginning", false, []string{"--conf", "f"}, "did you mean --config?"},
		{"a hidden flag is not named", false, []string{"--secre"}, ""},
		{"nothing is near", true, []string{"--zebra"}, ""},
		{"one letter", true, []string{"-z"}, ""},
		{"not a matter of names", false, []string{"--limit", "x"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			root, cmd := &cobra.Command{Use: "p"}, &cobra.Command{Use: "c", RunE: func(*cobra.Command, []string) error { return nil }}
			root.PersistentFlags().StringP("config", "c", "", "")
			root.AddCommand(cmd)
			cmd.Flags().Int("limit", 0, "")
			cmd.Flags().Bool("secret", false, "")
			must.Do(t, cmd.Flags().MarkHidden("secret"))
			if c.execute {
				cmd.Flags().Bool("execute", false, "")
			}
			err := cmd.ParseFlags(c.args)
			must.That(t, err != nil, "it was taken")
			expect.Equal(t, FlagHint(cmd, err), c.want)
		})
	}
	expect.Equal(t, FlagHint(&cobra.Command{}, errors.New("unknown flag: --dry-run")), "", "of an error of another kind")
}

func TestRead_ofThisBinary(t *testing.T) {
	got := ReadBuild()
	expect.That(t, got.Version != "" && got.Go == runtime.Version(), "got %+v", got)
}

func TestLogger_S0_7_writesOneJSONObjectALine(t *testing.T) {
	var out bytes.Buffer
	log, _, err := NewLogger(&out, "warn")
	must.Do(t, err)
	log.Info("not told")
	log.Warn("told", "due", time.Date(2026, 7, 1, 12, 0, 0, 0, time.FixedZone("x", 3600)))
	var line map[string]any
	err = json.Unmarshal(out.Bytes(), &line)
	expect.That(t, err == nil && line["msg"] == "told" && line["due"] == "2026-07-01T11:00:00Z", "line %s, %v", out.String(), err)
	_, _, err = NewLogger(&out, "loud")
	expect.That(t, err != nil, "a level that does not exist was accepted")
}

func TestLogger_S0_7_isTextOnATerminal(t *testing.T) {
	var out bytes.Buffer
	slog.New(logHandler(&out, slog.LevelInfo, true)).Info("told", "id", "x\x1b[2J")
	got := out.String()
	expect.That(t, strings.Contains(got, " level=INFO msg=told id=") && !strings.Contains(got, "\x1b"), "%q", got)
}

func TestWrapText_S4_12_breaksAtSpaces(t *testing.T) {
	for _, c := range []struct {
		line  string
		width int
		want  string
	}{
		{"one two three", 0, "one two three"},
		{"one two three", 13, "one two three"},
		{"one two three", 8, "one two\n  three"},
		{"name      é two three four", 15, "name      é two\n  three four"},
		{"a-word-that-is-wider-than-that two", 10, "a-word-that-is-wider-than-that\n  two"},
		{"", 5, ""},
	} {
		got := WrapText(c.line, c.width, "  ")
		expect.That(t, got == c.want, "%q in %d: %q, want %q", c.line, c.width, got, c.want)
		expect.That(t, strings.Join(strings.Fields(got), " ") == strings.Join(strings.Fields(c.line), " "), "%q lost a word: %q", c.line, got)
	}
}

// S2-7: nothing is drawn beyond the terminal, and no text steers it.
func TestFit_S2_7_nothingBeyondTheTerminal(t *testing.T) {
	lines := FitScreen(strings.Repeat("a line that is long\n", 30)+"\x1b[2Jthe end\n", 10, 8)
	expect.That(t, len(lines) == 7 && strings.HasPrefix(lines[6], "… 25 line"), "%q", lines)
	for _, line := range lines {
		n := len([]rune(line))
		expect.That(t, n <= 10, "%d columns: %q", n, line)
	}
	got := FitScreen("a\x1b[2Jb\n", 0, 0)
	expect.That(t, len(got) == 1 && !strings.Contains(got[0], "\x1b"), "%q", got)
	got = FitScreen("a\nb\n", 80, 24)
	expect.That(t, reflect.DeepEqual(got, []string{"a", "b"}), "%q", got)
}

func ExampleStaleLine() {
	at := time.Date(2026, 11, 24, 3, 0, 0, 0, time.UTC)
	fmt.Print(StaleLine(at, at.Add(5*time.Second), errors.New("the broker\ndoes not answer")))
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
		expect.Equal(t, CleanText(c.in, OneLine), c.line, c.in, "on one line")
		expect.Equal(t, CleanText(c.in, KeepLines), c.lines, c.in)
	}
}
