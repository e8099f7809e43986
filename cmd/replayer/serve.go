package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/console"
	"github.com/switchback-geo/switchback/internal/replay"
)

func (a *app) serve() *cobra.Command {
	var listen string
	read := reading{background: true}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Answer the questions about dead letters over HTTP",
		Long: `Answer over HTTP what stats, groups, list, show, replays and audit print, in the same JSON, until you stop it.
A browser shows it as pages, and /api/openapi.json describes it. Nothing can be changed there.

It listens at loopback addresses only, since it has no accounts.`,
		Args: a.fileArgument,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runServe(cmd.Context(), &read, listen) },
	}
	read.register(cmd)
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:8480", "where to listen, as host:port; port 0 is any that is free")
	return cmd
}

func (a *app) runServe(ctx context.Context, read *reading, listen string) error {
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
	c, err := console.New(ctx, console.Options{DeadLetters: letters, Replays: replays, Explain: a.explain, Now: a.env.Now})
	if err != nil {
		return err
	}
	defer c.Close()
	fmt.Fprintf(a.env.Out, "http://%s/\n", l.Addr())
	fmt.Fprintf(a.env.Err, "dead letters of %s, read-only; stop with Ctrl-C\n", cli.CleanText(letters.Topic(), cli.OneLine))
	return c.Serve(ctx, l)
}

// explain returns the exit code and the words of an error, as a command ends with them.
func (a *app) explain(err error) (cli.Exit, error) {
	err = a.worded(err)
	code, _ := codeOf(err)
	return code, err
}
