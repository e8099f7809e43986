package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/replay"
)

// Env is the world around a command, as main finds it and a test makes it.
type Env struct {
	Out, Err    io.Writer
	In          io.Reader        // for questions; nil when there is nobody to ask
	InTerminal  bool             // In is a terminal
	Terminal    bool             // Out is a terminal
	ErrTerminal bool             // Err is one: there may be a progress bar
	Color       bool             // colours may be used
	Width       int              // columns of the terminal; 0 when it is not known
	Version     cli.Build        // of the program
	Now         func() time.Time // the clock
	ConfigFile  string           // the pipeline file that the environment names; empty when it names none
	KafkaOpts   []kgo.Opt        // put behind those of the pipeline file
}

// Run executes one command line (without the program's name) and returns its exit code.
func Run(ctx context.Context, env Env, args []string) cli.Exit {
	a := &app{env: env}
	root := a.root()
	root.SetArgs(args)
	root.SetOut(env.Out)
	root.SetErr(env.Err)
	err := a.worded(root.ExecuteContext(ctx))
	code, say := codeOf(err)
	if code == cli.ExitInterrupted {
		err = fmt.Errorf("interrupted: %w", err)
	}
	if say {
		fmt.Fprintf(env.Err, "replayer: %s\n", cli.CleanText(err.Error(), cli.KeepLines))
	}
	return code
}

// worded names in an error who was denied, whose topic is missing, and where the brokers are named.
func (a *app) worded(err error) error {
	if a.foreignTopic == "" {
		return kafka.NamedDenial(a.principal, "replayer acls", err)
	}
	if u, ok := errors.AsType[*kafka.UnreachableError](err); ok {
		u.Alone = true
	}
	privileges := ""
	if a.looked != nil {
		privileges = fmt.Sprintf("replayer acls %s --target TOPIC --principal %s", a.meant(a.looked), cmp.Or(a.principal, "User:NAME"))
	}
	return a.notOurs(kafka.NamedDenial(a.principal, privileges, err))
}

// app is one run of the program.
type app struct {
	env          Env
	configFile   string
	argument     *string // the pipeline file as an argument
	output       string
	asked        bool // the output was given, and is not a default
	by           string
	foreignTopic string    // a DLQ that is named by itself
	looked       *reading  // the DLQ without a pipeline that was opened; nil is none
	cluster      []kgo.Opt // how its cluster is reached
	principal    string    // by which the brokers know this program, once the pipeline file is read
	lease        replay.LeaseOptions
	named        reading       // of commands that put back or change: which DLQ, when it has no pipeline
	answers      *bufio.Reader // of the operator; nil before the first question
	noColor      bool
	verbose      bool
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
			return unknownCommand(cmd, args[0])
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if words := cmd.Flags().Args(); cmd.HasSubCommands() && len(words) > 0 {
			return unknownCommand(cmd, words[0]) // the flags are those of the command that was meant
		}
		if hint := cli.FlagHint(cmd, err); hint != "" {
			return usage("%w; %s", err, hint)
		}
		return usage("%w; %s --help lists the flags", err, cmd.CommandPath())
	})
	flags := root.PersistentFlags()
	flags.StringVarP(&a.configFile, "config", "c", "", cli.PipelineFileUsage)
	flags.StringVarP(&a.output, "output", "o", "", "table, json or ndjson (default: table on a terminal, else ndjson)")
	flags.StringVar(&a.by, "actor", "", "who acts, for states and audit (default: the user of the operating system)")
	flags.BoolVar(&a.noColor, "no-color", false, "no colours (also: NO_COLOR)")
	flags.BoolVarP(&a.verbose, "verbose", "v", false, "log what is done to the standard error")
	mustComplete(root.RegisterFlagCompletionFunc("output", words(formats())))
	mustComplete(root.MarkPersistentFlagFilename("config", "yaml", "yml"))
	root.AddCommand(a.list(), a.groups(), a.note(), a.stats(), a.show(), a.export(), a.index(), a.plan(), a.replay(), a.replays(), a.edit(), a.undo(), a.prune(), a.audit(), a.serve(), a.acls(), a.version())
	root.AddCommand(a.changes()...)
	root.AddCommand(a.jobOrders()...)
	wrapArgs(root)
	cli.ArrangeHelp(root, commandGroups(), commandExamples())
	return root
}

// unknownCommand says which command may have been meant.
func unknownCommand(cmd *cobra.Command, word string) error {
	cmd.SuggestionsMinimumDistance = 2
	hint := "see " + cmd.CommandPath() + " --help"
	if near := cmd.SuggestionsFor(word); len(near) > 0 {
		hint = "did you mean " + strings.Join(near, " or ") + "?"
	}
	return usage("unknown command %q; %s", word, hint)
}

// check looks at the flags that all commands have.
func (a *app) check(cmd *cobra.Command, _ []string) error {
	a.leasing(cmd)
	if err := a.choose(cmd); err != nil {
		return err
	}
	a.asked = a.output != ""
	if a.output == "text" {
		a.output = "table" // as the consumer takes it
	}
	if a.output == "" {
		a.output = "ndjson"
		if a.env.Terminal {
			a.output = "table"
		}
	}
	if !slices.Contains(formats(), a.output) {
		return usage("unknown output %q; use one of %s", a.output, strings.Join(formats(), ", "))
	}
	a.env.Color = a.env.Color && !a.noColor
	return nil
}

// formats lists what -o takes.
func formats() []string { return []string{"table", "json", "ndjson"} }

// service loads the pipeline file, or takes the DLQ that is named without one, and makes sure that its brokers answer.
func (a *app) service(ctx context.Context) (*replay.Service, error) {
	cfg, err := a.dlq(&a.named)
	if err != nil {
		return nil, err
	}
	a.principal = kafka.Principal(cfg.Kafka)
	o := replay.Options{Logger: a.log(), KafkaOpts: a.env.KafkaOpts, Now: a.env.Now, Alone: a.alone(&a.named), StateDir: a.named.stateDir, Index: a.indexOptions(&a.named)}
	if o.Alone {
		a.foreignTopic = a.named.topic
	}
	a.opened(&a.named, cfg)
	if o.Dialect, err = a.named.ofDialect(); err != nil {
		return nil, err
	}
	s, err := replay.New(cfg, o)
	if err != nil {
		return nil, exit(cli.ExitUsage, err)
	}
	err = s.Reachable(ctx)
	if err == nil {
		err = s.OpenState(ctx)
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// wrapArgs makes errors about positional arguments usage errors.
func wrapArgs(root *cobra.Command) {
	for _, c := range append(root.Commands(), root) {
		inner := c.Args
		if inner == nil {
			continue
		}
		c.Args = func(cmd *cobra.Command, args []string) error {
			err := inner(cmd, args)
			if err == nil {
				return nil
			}
			if coded := (*exitError)(nil); errors.As(err, &coded) {
				return err
			}
			return usage("%w; see %s --help", err, cmd.CommandPath())
		}
	}
}

// mustComplete ends the program when a completion is set up for a flag that does not exist.
func mustComplete(err error) {
	if err != nil {
		panic(err)
	}
}

func words(list []string) cobra.CompletionFunc {
	return cobra.FixedCompletions(list, cobra.ShellCompDirectiveNoFileComp)
}
