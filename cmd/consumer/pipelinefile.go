package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/switchback-geo/switchback/internal/cli"
)

// fileArgument marks, as an annotation, a command whose argument is the pipeline file.
const fileArgument = "pipeline-file"

// configFlag adds the pipeline file to cmd, as a flag and as an argument.
func configFlag(cmd *cobra.Command, file *string) {
	cmd.Annotations = map[string]string{fileArgument: ""}
	configFlagOnly(cmd, file)
}

// configFlagOnly is configFlag for a command whose argument is something else.
func configFlagOnly(cmd *cobra.Command, file *string) {
	cmd.Flags().StringVarP(file, "config", "c", "", cli.PipelineFileUsage)
	if err := cmd.MarkFlagFilename("config", "yaml", "yml"); err != nil {
		panic(err) // the flag was made one line above
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

// stray returns the fault of the words after a command; nil if it accepts them.
func stray(cmd *cobra.Command, args []string) error {
	takes := "flags only"
	if _, ok := cmd.Annotations[fileArgument]; ok {
		if len(args) == 1 {
			return nil
		}
		takes = "one argument, the pipeline file"
	}
	return usageError(fmt.Errorf("unexpected word %q; `%s` takes %s", strings.Join(args, " "), cmd.CommandPath(), takes))
}
