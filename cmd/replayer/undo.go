package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/replay"
)

func (a *app) undo() *cobra.Command {
	var consent consent
	var bulk bulk
	cmd := &cobra.Command{
		Use:   "undo OPERATION",
		Short: "Take one operation back (dry run without --execute)",
		Long: `Give the dead letters of one discard, escalate, reopen, edit or undo what they had before it. Dead letters that were
changed since are left as they are, with the reason. What a replay sent cannot be called back, and what was
pruned is gone. Each change prints the id of its operation; replayer audit lists them.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("undo takes the id of one operation (each change prints it, replayer audit lists them)")
			}
			return nil
		},
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runUndo(cmd.Context(), args[0], &consent, &bulk)
		},
	}
	consent.register(cmd)
	bulk.registerExpect(cmd)
	a.named.registerIndex(cmd)
	a.named.registerDLQ(cmd)
	return cmd
}

func (a *app) runUndo(ctx context.Context, operation string, consent *consent, bulk *bulk) error {
	if err := consent.check(); err != nil {
		return err
	}
	s, err := a.service(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	if consent.execute {
		call := a.call(consent.reason)
		call.GoOn = a.goesOn(fmt.Sprintf("replayer undo %s %s", a.place(), quoted(operation)), consent.reason)
		result, err := s.Undo(ctx, operation, call, a.confirm(ctx, bulk))
		return a.changed("undo", call, result, err)
	}
	result, err := s.PreviewUndo(ctx, operation)
	if err != nil {
		return err
	}
	if err := a.writeChange("would undo", result, true); err != nil {
		return err
	}
	if result.Changed == 0 {
		return exit(cli.ExitNothing, fmt.Errorf("no dead letter of %s can be reversed", cli.CleanText(operation, cli.OneLine)))
	}
	return a.refused(fmt.Sprintf("replayer undo %s %s%s", a.place(), quoted(operation), bulk.expectFlag(result.Selected)), consent.reason)
}

// changed prints what a change did, how it is taken back, and gives its exit code.
func (a *app) changed(done string, call replay.Call, r replay.ChangeResult, err error) error {
	a.goOnAfterCancel(err, call.GoOn(r.Selected))
	if err != nil && r.Transactions == 0 {
		return changeEnding(r, err)
	}
	if written := a.writeChange(done, r, false); written != nil && err == nil {
		err = written
	}
	if r.Changed > 0 && a.output == "table" {
		fmt.Fprintf(a.env.Err, "To take it back:\n  replayer undo %s %s%s --execute --reason 'why'\n", a.place(), r.ID, expectFlag(r.Changed, false))
	}
	return changeEnding(r, err)
}
