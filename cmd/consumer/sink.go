package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/sink"
)

func newSink() *cobra.Command {
	cmd := &cobra.Command{Use: "sink", Short: "Make the table beside the output topic"}
	cmd.AddCommand(newSinkDDL(), newSinkEnsure(), newSinkRekey())
	return cmd
}

// loadTable loads the file of a pipeline that has a table.
func loadTable(file string) (*config.Config, error) {
	cfg, err := config.Load(file)
	if err != nil {
		return nil, configError(err)
	}
	if cfg.Sink.PostGIS == nil {
		return nil, usageError(errors.New("the pipeline has no table: add sink.postgis to the file"))
	}
	return cfg, nil
}

func newSinkDDL() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "ddl -c FILE | psql …",
		Short: "Print the statements that make the table and its guard, where they are not there; contacts no database",
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := loadTable(file)
			if err != nil {
				return err
			}
			ddl, err := sink.DDL(cfg)
			if err != nil {
				return err
			}
			fmt.Fprint(cmd.OutOrStdout(), ddl)
			return nil
		},
	}
	configFlag(cmd, &file)
	return cmd
}
