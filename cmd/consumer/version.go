package main

import (
	"github.com/spf13/cobra"

	"github.com/switchback-geo/switchback/internal/cli"
)

// verboseFlag is the name of the flag -v, which every command has.
const verboseFlag = "verbose"

// verbose reports whether -v was given.
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
		Short: "Show version and commit of this program, and what built it",
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
