package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/switchback-geo/switchback/internal/access"
	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/console"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/replay"
)

func (a *app) serve() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Open the web console",
		Long: `Serve the console: groups, a map, single dead letters, replays and the audit trail as pages in a browser, until you stop it.
The same data is available as JSON, and /api/openapi.json describes it. With --allow-changes the pages also put dead letters back,
discard, escalate, reopen and edit them, pause and cancel jobs, undo operations, in the name of --actor or of who signed in.

Without --access only the users of this machine can reach it. FILE says who may use it from elsewhere: people with tokens, or
those that a reverse proxy signs in.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runServe(cmd.Context(), &f) },
	}
	a.dlqFlags.register(cmd)
	cmd.Flags().StringVar(&f.listen, "listen", "127.0.0.1:8480", "where to listen, as host:port; port 0 is any that is free")
	cmd.Flags().BoolVar(&f.changes, "allow-changes", false, "let the pages change dead letters: for everyone on this machine, or with --access for the role replay")
	cmd.Flags().StringVar(&f.access, "access", "", "file that says who may use the console from elsewhere (see docs/console-access.md)")
	cmd.Flags().StringSliceVar(&f.metrics, "metrics", nil, "host:port of instances of the pipeline: the first page shows their circuit breakers")
	mustComplete(cmd.MarkFlagFilename("access", "yaml", "yml"))
	return cmd
}

// serveFlags holds the flags of the serve command.
type serveFlags struct {
	listen, access string
	changes        bool
	metrics        []string
}

// gate returns the access control of the console.
func (a *app) gate(f *serveFlags) (*access.Gate, error) {
	if f.access == "" {
		return access.Loopback(a.by), nil
	}
	if a.by != "" {
		return nil, cli.UsageError("--actor and --access: with --access the audit trail names who signed in; leave --actor out")
	}
	who, err := access.Load(f.access)
	if err != nil {
		return nil, exit(cli.ExitUsage, err)
	}
	gate, err := access.New(who, a.env.Now, a.logFrom("info"))
	if err != nil {
		return nil, exit(cli.ExitUsage, err)
	}
	return gate, nil
}

func (a *app) runServe(ctx context.Context, f *serveFlags) error {
	gate, err := a.gate(f)
	if err != nil {
		return err
	}
	l, err := console.Listen(ctx, f.listen, gate)
	if errors.Is(err, console.ErrAddress) {
		return exit(cli.ExitUsage, err)
	}
	if err != nil {
		return err
	}
	defer l.Close()
	letters, err := a.browse(ctx, true)
	if err != nil {
		return err
	}
	if err := letters.Exists(ctx); err != nil {
		return err
	}
	var replays *replay.Service
	if a.alone() || a.dlqFlags.named.Topic == "" {
		replays = letters.Replays()
	}
	o := console.Options{DeadLetters: letters, Replays: replays, Access: gate, Metrics: f.metrics, Explain: a.explain, Now: a.env.Now}
	may := "read-only; --allow-changes lets its pages change them"
	if f.changes {
		if replays == nil {
			return cli.UsageError("--allow-changes changes the pipeline's own DLQ, or one that is named by --brokers and --topic: leave --topic out, or -c")
		}
		o.Changes, may = &console.Changes{GoOn: a.continueConsole}, "which its pages may change"
	}
	c, err := console.New(ctx, o)
	if err != nil {
		return err
	}
	defer c.Close()
	fmt.Fprintln(a.env.Out, gate.URL(l.Addr()))
	fmt.Fprintf(a.env.Err, "dead letters of %s, %s; stop with Ctrl-C\n", cli.CleanText(letters.Topic(), cli.OneLine), may)
	return c.Serve(ctx, l)
}

// continueConsole returns the command that continues an operation of the console. An undo is continued by the id of the
// undone operation.
func (a *app) continueConsole(by, verb string, f deadletters.Filter, id, reason string) func(letters int) string {
	what := flagsOf(f) + allFlag(f)
	switch verb {
	case "replay":
		what += cli.FlagText("replay-id", id)
	case "undo":
		what = " " + cli.ShellWord(id)
	}
	return a.continueCommandBy(by, "replayer "+verb+" "+a.dlqText()+what, reason)
}

// explain returns the exit code and the text that a command would print for an error.
func (a *app) explain(err error) (cli.Exit, error) {
	err = a.explained(err)
	code, _ := codeOf(err)
	return code, err
}
