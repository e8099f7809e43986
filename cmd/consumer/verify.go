package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/verify"
)

func newVerify() *cobra.Command {
	cmd := &cobra.Command{Use: "verify", Short: "Prove what the topics, the table and the trail have"}
	cmd.AddCommand(newVerifyRecords(), newVerifyTable(), newVerifyAudit())
	return cmd
}

// verifyWithin verifies within a time; 0 is no limit. It adds advice to a timeout.
func verifyWithin(outer context.Context, timeout time.Duration, advice string, run func(context.Context) error) error {
	ctx := outer
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	err := run(ctx)
	switch {
	case err != nil && outer.Err() != nil:
		return errInterrupted
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("not verified within --timeout %s: %w%s", timeout, err, advice)
	}
	return err
}

// verdictReport is what a verification prints.
type verdictReport interface {
	Text(out io.Writer) error
	Line() string
}

// printVerdict prints a report. It returns an error if a guarantee is broken.
func printVerdict(out io.Writer, output *outputValue, report verdictReport, verdict verify.Verdict) error {
	show := report.Text
	if !output.people() {
		show = func(out io.Writer) error { return output.encode(out, report) }
	}
	err := show(out)
	if err == nil && verdict == verify.Violated {
		err = exitError{cli.ExitPartly, errors.New(report.Line())}
	}
	return err
}
