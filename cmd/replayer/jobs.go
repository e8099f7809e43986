package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/replay"
)

// jobOrders are the commands that order something of a job. They need no consent: they stop work, or go on with what had consent.
func (a *app) jobOrders() []*cobra.Command {
	var out []*cobra.Command
	for _, c := range []struct {
		name, short, long string
		order             control.JobVerb
	}{
		{"pause", "Let a running job wait",
			`Let a running replay or change wait after the transaction at hand. Its process goes on waiting, and no other replayer changes
dead letters meanwhile, until replayer resume or replayer cancel.`, control.PauseJob},
		{"resume", "Let a job go on that waits",
			`Let a replay or change go on that waits after replayer pause. When its process has ended, nothing waits: then the command
that goes on with it is printed.`, control.ResumeJob},
		{"cancel", "End a running job",
			`End a running or waiting replay or change after the transaction at hand. What it committed stays. Its process says what was not
reached and ends with exit code 6; replayer replays shows the command that goes on.`, control.CancelJob},
	} {
		cmd := &cobra.Command{
			Use: c.name + " JOB", Short: c.short,
			Long: c.long + "\n\nIt acts at once, without --execute, from any machine. replayer replays lists the jobs.",
			Args: func(_ *cobra.Command, args []string) error {
				if len(args) != 1 {
					return fmt.Errorf("%s takes the id of one job (replayer replays lists them)", c.name)
				}
				return nil
			},
			ValidArgsFunction: cobra.NoFileCompletions,
			RunE:              func(cmd *cobra.Command, args []string) error { return a.runJobOrder(cmd.Context(), c.order, args[0]) },
		}
		a.named.registerDLQ(cmd)
		out = append(out, cmd)
	}
	return out
}

func (a *app) runJobOrder(ctx context.Context, order control.JobVerb, id string) error {
	s, err := a.service(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	j, err := s.OrderJob(ctx, id, a.by, order)
	if refused, is := errors.AsType[*replay.JobOrderError](err); is {
		if refused.Job.NotReached > 0 {
			fmt.Fprint(a.env.Err, stoppedText(refused.Job))
		}
		return exit(cli.ExitNothing, err)
	}
	if err != nil {
		return err
	}
	if a.output != "table" {
		return a.object(j)
	}
	_, err = fmt.Fprintln(a.env.Out, jobLine(j))
	return err
}

// goOnAfterCancel prints the command that goes on with what an operator cancelled, or another replayer ended.
func (a *app) goOnAfterCancel(err error, command string) {
	if isCancelled(err) || errors.Is(err, replay.ErrFenced) {
		fmt.Fprintf(a.env.Err, "To go on with what is left%s:\n  %s\n", counting(command), command)
	}
}

// counting says of a command that is a dry run why it is one: how many dead letters are left is not known, and their number must be named.
func counting(command string) string {
	if strings.Contains(command, " --execute") {
		return ""
	}
	return " (a dry run that counts them, and prints the command)"
}
