package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/config"
)

// fileArgument marks, as an annotation, a command whose argument is the pipeline file.
const fileArgument = "pipeline-file"

// configFlag adds the pipeline file to cmd, as a flag and as an argument.
func configFlag(cmd *cobra.Command, file *string) {
	cmd.Annotations = map[string]string{fileArgument: ""}
	registerConfig(cmd, file, cli.PipelineFileUsage)
}

// fileRun is the work of a command on a pipeline file.
type fileRun func(cmd *cobra.Command, cfg *config.Config, file string) error

// withFile adds the pipeline file to cmd, and makes cmd load it and call run.
func withFile(cmd *cobra.Command, run fileRun) *cobra.Command {
	var file string
	configFlag(cmd, &file)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := config.Load(file)
		if err != nil {
			return usageError(err) // nothing was started
		}
		return run(cmd, cfg, file)
	}
	return cmd
}

// configFlagOnly adds the pipeline file to cmd as a flag. An argument of cmd has another meaning.
func configFlagOnly(cmd *cobra.Command, file *string) {
	registerConfig(cmd, file, cli.PipelineFlagUsage)
}

func registerConfig(cmd *cobra.Command, file *string, usage string) {
	cmd.Flags().StringVarP(file, "config", "c", "", usage)
	if err := cmd.MarkFlagFilename("config", "yaml", "yml"); err != nil {
		panic(err) // the flag was added one line above
	}
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error { return chooseFile(cmd, file, args) }
}

// chooseFile sets the pipeline file from the command line or the environment.
func chooseFile(cmd *cobra.Command, file *string, args []string) error {
	named := cli.NamedPipelineFile{Environment: os.Getenv(cli.PipelineFileVariable)}
	if cmd.Flags().Changed("config") {
		flag := *file
		named.Flag = &flag
	}
	if len(args) > 0 {
		named.Argument = &args[0]
	}
	choice, err := named.Choose()
	if errors.Is(err, cli.ErrNoPipelineFile) {
		return usageError(fmt.Errorf("%w; such as `%s -c pipeline.yaml`", err, cmd.CommandPath()))
	}
	if err != nil {
		return usageError(err)
	}
	*file = choice.File
	return sayFile(cmd, choice)
}

// stray returns the fault of the arguments of a command; nil if it accepts them.
func stray(cmd *cobra.Command, args []string) error {
	takes := "flags only"
	if cmd.Flags().Lookup("config") != nil {
		takes = "flags only: name the pipeline file with -c"
	}
	if _, ok := cmd.Annotations[fileArgument]; ok {
		if len(args) == 1 {
			return nil
		}
		takes = "one argument, the pipeline file"
	}
	return usageError(fmt.Errorf("unexpected word %q; `%s` accepts %s", strings.Join(args, " "), cmd.CommandPath(), takes))
}

// outputs lists the values of -o, which replayer has too. A report is one object, so ndjson is JSON on one line.
func outputs() []string { return []string{"table", "json", "ndjson"} }

// outputFlag adds the flag -o to cmd.
func outputFlag(cmd *cobra.Command) *outputValue {
	v := new(outputValue)
	cmd.Flags().VarP(v, "output", "o", strings.Join(outputs(), ", "))
	if err := cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(outputs(), cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // the flag was added one line above
	}
	return v
}

// outputValue is the value of -o.
type outputValue struct{ format string }

func (v *outputValue) String() string {
	if v.format == "" {
		return "table"
	}
	return v.format
}

func (v *outputValue) Type() string { return "string" }

// Set accepts the words of outputs.
func (v *outputValue) Set(s string) error {
	if !slices.Contains(outputs(), s) {
		return fmt.Errorf("use one of %s", strings.Join(outputs(), ", "))
	}
	v.format = s
	return nil
}

// people reports whether a person reads the output.
func (v *outputValue) people() bool { return v.String() == "table" }

// encode writes x for a program.
func (v *outputValue) encode(out io.Writer, x any) error {
	return cli.WriteJSON(out, x, v.format == "json")
}

// verboseFlag is the name of the flag -v, which every command has.
const verboseFlag = "verbose"

// verbose reports whether -v was set.
func verbose(cmd *cobra.Command) bool {
	on, err := cmd.Flags().GetBool(verboseFlag)
	return err == nil && on
}

// sayFile logs with -v which pipeline file is used, and by which program.
func sayFile(cmd *cobra.Command, choice cli.PipelineFile) error {
	if !verbose(cmd) {
		return nil
	}
	log, _, err := cli.NewLogger(cmd.ErrOrStderr(), "")
	if err != nil {
		return usageError(err)
	}
	log.InfoContext(cmd.Context(), "pipeline file", "file", choice.File, "named_by", choice.By, "command", cmd.CommandPath(), "version", cli.ReadBuild().String())
	return nil
}

func newVersion() *cobra.Command {
	var output *outputValue
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Show version and commit of this program, and how it was built",
		RunE: func(cmd *cobra.Command, _ []string) error {
			info := cli.ReadBuild()
			if !output.people() {
				return output.encode(cmd.OutOrStdout(), info)
			}
			return info.Text(cmd.OutOrStdout(), cmd.Root().Name())
		},
	}
	output = outputFlag(cmd)
	return cmd
}
