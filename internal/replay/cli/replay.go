package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/switchback-geo/switchback/internal/replay"
)

// replayFlags is what the replay command takes besides the filter.
type replayFlags struct {
	sel         selection
	execute     bool
	onlyPassing bool
	reason      string
	replayID    string
}

func (a *app) replay() *cobra.Command {
	var f replayFlags
	cmd := &cobra.Command{
		Use:   "replay",
		Short: "Put dead letters back into the source topic (dry run without --execute)",
		Long: `Put the selected pending letters back into the source topic, each once: letters of one
content hash go back once, whoever runs this, how often, and whatever crashes.

Without --execute nothing is changed: a dry run says what today's transform would make of each
letter. It calls no remote step.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runReplay(cmd.Context(), &f) },
	}
	f.sel.register(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&f.execute, "execute", false, "do it; without this flag it is a dry run")
	flags.StringVar(&f.reason, "reason", "", "why, for states and audit; mandatory with --execute")
	flags.StringVar(&f.replayID, "replay-id", "", "name of the replay (default: made from time and chance)")
	flags.BoolVar(&f.onlyPassing, "only-passing", false, "leave letters that today's transform would refuse again")
	return cmd
}

func (a *app) runReplay(ctx context.Context, f *replayFlags) error {
	filter, err := f.sel.filter(a.env.Now())
	if err != nil {
		return err
	}
	if f.execute && strings.TrimSpace(f.reason) == "" {
		return usage("--execute needs --reason: say why the letters go back, for example --reason 'mapping of AREA fixed'")
	}
	s, err := a.service(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	plan, err := s.Plan(ctx, filter)
	if err != nil {
		return err
	}
	if len(plan.Letters) == 0 {
		return exit(ExitNothing, errors.New("no dead letter that could be replayed matches"))
	}
	if !f.execute {
		return a.dryRun(plan)
	}
	result, err := s.Execute(ctx, plan, replay.ExecuteOptions{Reason: f.reason, ReplayID: f.replayID, OnlyPassing: f.onlyPassing})
	if errors.Is(err, replay.ErrOptions) {
		return err
	}
	if written := a.writeResult(plan, result); written != nil && err == nil {
		err = written
	}
	return ending(result, err)
}

// ending gives the exit code of an execution.
func ending(result replay.Result, err error) error {
	switch {
	case err != nil && errors.Is(err, context.Canceled):
		return err
	case err != nil && result.Transactions > 0:
		return exit(ExitPartly, err)
	case err != nil:
		return err
	case len(result.Skipped) > 0:
		return exit(ExitPartly, nil)
	}
	return nil
}

// dryRun prints the plan. Off a terminal nobody can have meant to change nothing, so that is an
// exit code of its own.
func (a *app) dryRun(plan *replay.Plan) error {
	if err := a.writePlan(plan); err != nil {
		return err
	}
	fmt.Fprintf(a.env.Err, "\nDry run: nothing was changed. To put these letters back:\n  replayer replay -c %s%s --execute --reason 'what was fixed'\n",
		quoted(a.configFile), flagsOf(plan.Filter))
	if !a.env.Terminal {
		return exit(ExitRefused, errors.New("refused without --execute: the output is not a terminal, so this may be a script that expects a change"))
	}
	return nil
}
