package screen

import (
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// Redraw puts lines in the place of those before (ECMA-48: CUP, EL, ED). What was there is overwritten and not cleared first, so
// that nothing flickers.
func Redraw(out io.Writer, lines []string) error {
	_, err := io.WriteString(out, "\x1b[H"+strings.Join(lines, "\x1b[K\n")+"\x1b[K\n\x1b[J")
	return err
}

// Size gives how to ask for the columns and rows of the terminal that out is; they may change.
func Size(out io.Writer) func() (width, height int, terminal bool) {
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
