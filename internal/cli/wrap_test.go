package cli

import (
	"strings"
	"testing"
)

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
		if got != c.want {
			t.Errorf("%q in %d: %q, want %q", c.line, c.width, got, c.want)
		}
		if strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(c.line), " ") {
			t.Errorf("%q lost a word: %q", c.line, got)
		}
	}
}
