package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/console"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/replay"
)

func (a *app) serve() *cobra.Command {
	var listen string
	var changes bool
	read := reading{background: true}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Answer the questions about dead letters over HTTP",
		Long: `Answer over HTTP what stats, groups, list, show, replays and audit print, in the same JSON, until you stop it.
A browser shows it as pages, and /api/openapi.json describes it. With --allow-changes the pages also put dead letters back,
discard, escalate and reopen them, pause and cancel jobs, and undo operations, in the name of --actor.

It listens at loopback addresses only, since it has no accounts.`,
		Args: a.fileArgument,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runServe(cmd.Context(), &read, listen, changes) },
	}
	read.register(cmd)
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:8480", "where to listen, as host:port; port 0 is any that is free")
	cmd.Flags().BoolVar(&changes, "allow-changes", false, "let the pages change dead letters, for whoever reaches this machine's loopback address")
	return cmd
}

func (a *app) runServe(ctx context.Context, read *reading, listen string, changes bool) error {
	l, err := console.Listen(ctx, listen)
	if errors.Is(err, console.ErrAddress) {
		return exit(cli.ExitUsage, err)
	}
	if err != nil {
		return err
	}
	defer l.Close()
	letters, err := a.browse(ctx, read)
	if err != nil {
		return err
	}
	defer letters.Close()
	var replays *replay.Service
	if a.alone(read) || read.topic == "" {
		replays = letters.Replays()
	}
	o := console.Options{DeadLetters: letters, Replays: replays, Explain: a.explain, Now: a.env.Now}
	may := "read-only; --allow-changes lets its pages change them"
	if changes {
		if replays == nil {
			return usage("--allow-changes changes the pipeline's own DLQ, or one that is named by --brokers and --topic: leave --topic out, or -c")
		}
		o.Changes, may = &console.Changes{By: a.by, GoOn: a.goesOnAgain}, "which its pages may change"
		a.named = *read // so that the commands that go on name the DLQ
	}
	c, err := console.New(ctx, o)
	if err != nil {
		return err
	}
	defer c.Close()
	fmt.Fprintf(a.env.Out, "http://%s/\n", l.Addr())
	fmt.Fprintf(a.env.Err, "dead letters of %s, %s; stop with Ctrl-C\n", cli.CleanText(letters.Topic(), cli.OneLine), may)
	return c.Serve(ctx, l)
}

// goesOnAgain returns the command that goes on with an operation of the pages. An undo is named by its operation.
func (a *app) goesOnAgain(verb string, f deadletters.Filter, id, reason string) func(letters int) string {
	what := flagsOf(f) + allFlag(f)
	switch verb {
	case "replay":
		what += again("replay-id", id)
	case "undo":
		what = " " + quoted(id)
	}
	return a.goesOn("replayer "+verb+" "+a.place()+what, reason)
}

// explain returns the exit code and the words of an error, as a command ends with them.
func (a *app) explain(err error) (cli.Exit, error) {
	err = a.worded(err)
	code, _ := codeOf(err)
	return code, err
}
