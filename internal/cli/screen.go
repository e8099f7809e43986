package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

// FitScreen makes text fit a terminal: no line is longer than width, and there is one line less than height, since the cursor needs one. A
// width of 0 or 1 is not known. Lines lose what would move the cursor or colour the screen: texts come from services and persons.
func FitScreen(text string, width, height int) []string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if height > 2 && len(lines) > height-1 {
		more := len(lines) - (height - 2)
		lines = append(lines[:height-2], fmt.Sprintf("… %d lines more: a larger window, or -o ndjson", more))
	}
	for i, line := range lines {
		if line = CleanText(line, OneLine); width > 1 {
			line = CutText(line, width)
		}
		lines[i] = line
	}
	return lines
}

// StaleLine is the line that says that a picture is an old one, with its end of line, and why; "" without trouble.
func StaleLine(of, now time.Time, trouble error) string {
	if trouble == nil {
		return ""
	}
	return fmt.Sprintf("NOT NEW, of %s ago: %v\n", now.Sub(of).Round(time.Second), strings.ReplaceAll(trouble.Error(), "\n", " "))
}

// RedrawScreen puts lines in the place of those before (ECMA-48: CUP, EL, ED). What was there is overwritten and not cleared first, so
// that nothing flickers.
func RedrawScreen(out io.Writer, lines []string) error {
	_, err := io.WriteString(out, "\x1b[H"+strings.Join(lines, "\x1b[K\n")+"\x1b[K\n\x1b[J")
	return err
}

// TerminalSize gives how to ask for the columns and rows of the terminal that out is; they may change.
func TerminalSize(out io.Writer) func() (width, height int, terminal bool) {
	file, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return func() (int, int, bool) { return 0, 0, false }
	}
	return func() (int, int, bool) {
		width, height, err := term.GetSize(int(file.Fd()))
		if err != nil || width == 0 {
			return 80, 24, true
		}
		return width, height, true
	}
}
