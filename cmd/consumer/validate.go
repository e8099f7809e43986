package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/switchback-geo/switchback/internal/config"
)

func newValidate() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "validate -c FILE",
		Short: "Check a pipeline file: every fault, with line, column and what to do; no I/O but reading it",
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := config.Load(file)
			if faults, ok := errors.AsType[*config.Faults](err); ok {
				fmt.Fprintln(cmd.ErrOrStderr(), faults)
				return usageError{fmt.Errorf("%s: %s", file, count(len(faults.List), "fault"))}
			}
			if err != nil {
				return configError(err)
			}
			warnings := config.Warnings(cfg)
			for _, w := range warnings {
				fmt.Fprintln(cmd.ErrOrStderr(), "warning:", w.Text(file))
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s: valid, %s\n", file, count(len(warnings), "warning"))
			return nil
		},
	}
	configFlag(cmd, &file)
	return cmd
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
