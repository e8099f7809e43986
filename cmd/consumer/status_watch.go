package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/switchback-geo/switchback/internal/status"
)

// watching shows reports until the command is interrupted, which is its end and no failure.
func (f *statusFlags) watching(cmd *cobra.Command, gather func(context.Context) (status.Report, error)) error {
	out := cmd.OutOrStdout()
	size := terminalOf(out)
	return status.Watch(cmd.Context(), f.every, gather, func(s status.Seen, trouble error) error {
		width, height, terminal := size()
		if terminal && f.output.people() {
			return redraw(out, s.Screen(time.Now(), trouble, width, height))
		}
		if trouble != nil {
			fmt.Fprintf(cmd.ErrOrStderr(), "consumer: no new report: %v\n", trouble)
			return nil
		}
		return (&outputValue{format: "ndjson"}).encode(out, s)
	})
}

// redraw puts lines in the place of those before (ECMA-48: CUP, EL, ED). What was there is overwritten and not cleared first, so
// that nothing flickers.
func redraw(out io.Writer, lines []string) error {
	_, err := io.WriteString(out, "\x1b[H"+strings.Join(lines, "\x1b[K\n")+"\x1b[K\n\x1b[J")
	return err
}

// terminalOf gives how to ask for the size of the terminal that out is; it may change.
func terminalOf(out io.Writer) func() (width, height int, terminal bool) {
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
