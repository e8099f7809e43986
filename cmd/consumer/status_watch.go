package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/status"
)

// watching shows reports until the command is interrupted, which is its regular end.
func (f *statusFlags) watching(cmd *cobra.Command, gather func(context.Context) (status.Report, error)) error {
	out := cmd.OutOrStdout()
	size := cli.TerminalSize(out)
	return status.Watch(cmd.Context(), f.every, gather, func(s status.Seen, trouble error) error {
		width, height, terminal := size()
		if terminal && f.output.people() {
			return cli.RedrawScreen(out, s.Screen(time.Now(), trouble, width, height))
		}
		if trouble != nil {
			fmt.Fprintf(cmd.ErrOrStderr(), "consumer: no new report: %v\n", trouble)
			return nil
		}
		return (&outputValue{format: "ndjson"}).encode(out, s)
	})
}
