package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/console"
	"github.com/switchback-geo/switchback/internal/replay/jobs"
	"github.com/switchback-geo/switchback/internal/replay/operation"
)

// Env is the environment of a command: main and tests provide it.
type Env struct {
	Out, Err    io.Writer
	In          io.Reader        // for questions; nil if nobody can be asked
	InTerminal  bool             // In is a terminal
	Terminal    bool             // Out is a terminal
	ErrTerminal bool             // Err is a terminal: there may be a progress bar
	Color       bool             // colours may be used
	Width       int              // columns of the terminal; 0 is unknown
	Version     cli.Build        // of the program
	Now         func() time.Time // the clock
	ConfigFile  string           // the pipeline file that the environment names; "" for none
	KafkaOpts   []kgo.Opt        // appended to those of the pipeline file
}

// screen returns what the standard output is.
func (e Env) screen() cli.Screen {
	return cli.Screen{Terminal: e.Terminal, Width: e.Width, Color: e.Color}
}

func (a *app) screen() cli.Screen { return a.env.screen() }

// Run executes one command line (without the program's name) and returns its exit code.
func Run(ctx context.Context, env Env, args []string) cli.Exit {
	a := &app{env: env}
	defer a.close()
	root := a.root()
	root.SetArgs(args)
	root.SetOut(env.Out)
	root.SetErr(env.Err)
	err := a.explained(root.ExecuteContext(ctx))
	code, say := codeOf(err)
	if code == cli.ExitInterrupted {
		err = fmt.Errorf("interrupted: %w", err)
	}
	if say {
		fmt.Fprintf(env.Err, "replayer: %s\n", cli.CleanText(err.Error(), cli.KeepLines))
	}
	return code
}

// app is one run of the program.
type app struct {
	env         Env
	cmd         *cobra.Command // the command that runs
	configFile  string
	argument    *string // the pipeline file as an argument
	output      string
	outputGiven bool // -o was given
	by          string
	dlqFlags    dlqFlags
	lease       operation.LeaseOptions
	noColor     bool
	verbose     bool

	cfg     *config.Config // of the DLQ; nil before it is read
	closing []func()       // close what the command opened
	answers *bufio.Reader  // of the operator; nil before the first question
}

// close closes what the command opened, in reverse order.
func (a *app) close() {
	for _, end := range slices.Backward(a.closing) {
		end()
	}
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "replayer",
		Short: "Look at the dead letters of a pipeline, or of any DLQ, and put them back after a fix",
		Long: `replayer works on the dead letters of one Switchback pipeline: it lists and groups them,
shows why each died and what today's transform would say, and puts them back into the
source topic, each once. With --brokers and --topic it does so for the DLQ of any other software.

Nothing is changed without --execute.

` + cli.PipelineFileHelp + `
Two different files are an error.

` + cli.ExitHelp(),
		Version:           a.env.Version.String(),
		SilenceErrors:     true,
		SilenceUsage:      true,
		PersistentPreRunE: a.check,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return cli.UnknownCommand(cmd, args[0])
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	cli.ExplainFlagErrors(root)
	flags := root.PersistentFlags()
	flags.StringVarP(&a.configFile, "config", "c", "", cli.PipelineGlobalUsage)
	flags.StringVarP(&a.output, "output", "o", "", "table, json or ndjson (default: table on a terminal, else ndjson)")
	flags.StringVar(&a.by, "actor", "", "who acts, for states and audit (default: the user of the operating system)")
	flags.BoolVar(&a.noColor, "no-color", false, "no colours (also: NO_COLOR)")
	flags.BoolVarP(&a.verbose, "verbose", "v", false, "log what is done to the standard error")
	mustComplete(root.RegisterFlagCompletionFunc("output", words(formats())))
	mustComplete(root.MarkPersistentFlagFilename("config", "yaml", "yml"))
	root.AddCommand(a.list(), a.groups(), a.note(), a.stats(), a.show(), a.export(), a.index(), a.plan(), a.replay(), a.replays(), a.edit(), a.undo(), a.prune(), a.audit(), a.serve(), a.acls(), a.version())
	root.AddCommand(a.changes()...)
	root.AddCommand(a.jobOrders()...)
	a.arrangeArgs(root)
	cli.ArrangeHelp(root, commandGroups(), commandExamples())
	return root
}

// check checks the flags of all commands.
func (a *app) check(cmd *cobra.Command, _ []string) error {
	a.cmd = cmd
	if err := cmd.ValidateFlagGroups(); err != nil {
		return exit(cli.ExitUsage, err)
	}
	a.leasing(cmd)
	if err := a.choosePipelineFile(cmd); err != nil {
		return err
	}
	a.outputGiven = a.output != ""
	if a.output == "" {
		a.output = "ndjson"
		if a.env.Terminal {
			a.output = "table"
		}
	}
	if !slices.Contains(formats(), a.output) {
		return cli.UsageError("unknown output %q; use one of %s", a.output, strings.Join(formats(), ", "))
	}
	a.env.Color = a.env.Color && !a.noColor
	return nil
}

// formats returns the values of -o.
func formats() []string { return []string{"table", "json", "ndjson"} }

// arrangeArgs lets each command take the pipeline file as its argument, unless it takes others, and turns errors about
// arguments into usage errors.
func (a *app) arrangeArgs(root *cobra.Command) {
	for _, c := range append(root.Commands(), root) {
		inner := c.Args
		switch {
		case inner == nil:
			inner = a.fileArgument
		case c != root:
			c.ValidArgsFunction = cobra.NoFileCompletions
		}
		c.Args = func(cmd *cobra.Command, args []string) error {
			err := inner(cmd, args)
			if _, coded := errors.AsType[cli.ExitError](err); err == nil || coded {
				return err
			}
			return cli.UsageError("%w; see %s --help", err, cmd.CommandPath())
		}
	}
}

// oneArgument returns a usage error unless there is exactly one argument.
func oneArgument(says string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return errors.New(says)
		}
		return nil
	}
}

// mustComplete panics if a completion or an annotation is for a flag that does not exist.
func mustComplete(err error) {
	if err != nil {
		panic(err)
	}
}

func words(list []string) cobra.CompletionFunc {
	return cobra.FixedCompletions(list, cobra.ShellCompDirectiveNoFileComp)
}

// fileArgument takes the pipeline file as the only argument of a command.
func (a *app) fileArgument(cmd *cobra.Command, args []string) error {
	if err := cobra.MaximumNArgs(1)(cmd, args); err != nil || len(args) == 0 {
		return err
	}
	a.argument = &args[0]
	return nil
}

// choosePipelineFile sets the pipeline file that the command line or the environment names. A missing name is no error
// yet, because some commands need no file. Flags that name a DLQ without a pipeline override the environment.
func (a *app) choosePipelineFile(cmd *cobra.Command) error {
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

// log returns a logger that writes to the standard error: everything with -v, otherwise warnings and errors.
func (a *app) log() *slog.Logger {
	if a.verbose {
		return a.logFrom("info")
	}
	return a.logFrom("warn")
}

// logFrom returns a logger that drops messages below a level.
func (a *app) logFrom(level string) *slog.Logger {
	log, _, err := cli.NewLogger(a.env.Err, level)
	if err != nil {
		panic(err) // both levels exist
	}
	return log
}

func exit(code cli.Exit, err error) error { return cli.ExitError{Code: code, Err: err} }

func isCancelled(err error) bool {
	_, is := errors.AsType[*jobs.CancelledError](err)
	return is
}

// codeOf returns the exit code of an error, and whether the error must be printed.
func codeOf(err error) (code cli.Exit, say bool) {
	if coded, own := errors.AsType[cli.ExitError](err); own && !errors.Is(err, context.Canceled) {
		return coded.Code, coded.Err != nil
	}
	return console.ExitOf(err), err != nil
}
