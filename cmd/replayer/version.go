package main

import "github.com/spf13/cobra"

// version shows what the program was built from. It reads no pipeline file and asks no broker.
func (a *app) version() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Show version and commit of this program, and what built it",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if a.output == "table" {
				return a.env.Version.Text(a.env.Out, cmd.Root().Name())
			}
			return a.object(a.env.Version)
		},
	}
}
