package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/switchback-geo/switchback/schemas"
)

func newSchema() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of the pipeline file, for editors",
		Long: `Print the JSON Schema (draft 2020-12) of the pipeline file that this version reads.

An editor with a YAML language server completes and checks a pipeline file when its first line names the schema:

  # yaml-language-server: $schema=./pipeline.schema.json

The schema knows keys, types, words and ranges. What depends on several keys, only consumer validate checks.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			text, err := schemas.Read(schemas.Pipeline)
			if err != nil {
				return err
			}
			if _, err := cmd.OutOrStdout().Write(text); err != nil {
				return fmt.Errorf("print the schema: %w", err)
			}
			return nil
		},
	}
}
