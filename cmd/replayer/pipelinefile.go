package main

import (
	"errors"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/switchback-geo/switchback/internal/cli"
)

// fileArgument takes the pipeline file as the only argument of a command.
func (a *app) fileArgument(cmd *cobra.Command, args []string) error {
	if err := cobra.MaximumNArgs(1)(cmd, args); err != nil || len(args) == 0 {
		return err
	}
	a.argument = &args[0]
	return nil
}

// choose sets the pipeline file that the command line and the environment mean. None is no error yet: not every command needs one.
// Flags that name a DLQ by itself mean no file that only the environment names.
func (a *app) choose(cmd *cobra.Command) error {
	named := cli.NamedPipelineFile{Argument: a.argument, Environment: a.env.ConfigFile}
	if cmd.Flags().Changed("config") {
		flag := a.configFile
		named.Flag = &flag
	}
	for _, name := range []string{"brokers", "profile", "profiles"} {
		if cmd.Flags().Changed(name) {
			named.Environment = ""
		}
	}
	choice, err := named.Choose()
	if errors.Is(err, cli.ErrNoPipelineFile) {
		return nil
	}
	if err != nil {
		return exit(cli.ExitUsage, err)
	}
	a.configFile = choice.File
	a.log().InfoContext(cmd.Context(), "pipeline file", "file", choice.File, "named_by", choice.By, "command", cmd.CommandPath(), "version", a.env.Version.String())
	return nil
}

// log writes to the standard error what is done: all of it with -v, else only warnings.
func (a *app) log() *slog.Logger {
	if a.verbose {
		return a.logFrom("info")
	}
	return a.logFrom("warn")
}

// logFrom writes what is of a level or above it.
func (a *app) logFrom(level string) *slog.Logger {
	log, _, err := cli.NewLogger(a.env.Err, level)
	if err != nil {
		panic(err) // both are levels
	}
	return log
}
