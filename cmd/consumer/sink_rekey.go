package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/consumer"
	"github.com/switchback-geo/switchback/internal/sink"
)

func newSinkRekey() *cobra.Command {
	var file string
	var execute bool
	cmd := &cobra.Command{
		Use:   "rekey -c FILE",
		Short: "Take a table that has rows to the sink.key of the file; with --execute, keep the change",
		Long: `Take a table that has rows, and its guard, to the sink.key of the pipeline file: each row gets the key by which it is
found from now on. It is one transaction, which holds both tables; without --execute it is taken back at its end.

Stop all instances before. The user of the connection string has to own both tables. For feature_id the output topic is
read once; for a path the record keys, which the guard has, are enough. A row that would lead nowhere, or to the row of
another record key, is named, and nothing is changed. Memory: 5000 keys.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := loadTable(file)
			if err != nil {
				return err
			}
			return rekey(cmd, cfg, file, execute)
		},
	}
	configFlag(cmd, &file)
	cmd.Flags().BoolVar(&execute, "execute", false, "keep the change")
	return cmd
}

func rekey(cmd *cobra.Command, cfg *config.Config, file string, execute bool) error {
	var done sink.Rekeyed
	err := withClient(cmd.Context(), cfg, func(client *kgo.Client) (err error) {
		done, err = consumer.Rekey(cmd.Context(), cfg, client, execute)
		return err
	})
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	switch {
	case done.Unchanged:
		fmt.Fprintf(out, "table %s goes by %q already\n", cfg.Sink.PostGIS.Table, done.To)
	case execute:
		fmt.Fprintf(out, "table %s went by %q and goes by %q now: %d rows have another key, %d keys are known; start the consumers\n", cfg.Sink.PostGIS.Table, done.From, done.To, done.Rows, done.Keys)
	default:
		fmt.Fprintf(out, "table %s goes by %q; by %q, %d rows would have another key, %d keys are known\n\nNothing is changed. Stop all instances, then: consumer sink rekey -c %s --execute\n",
			cfg.Sink.PostGIS.Table, done.From, done.To, done.Rows, done.Keys, file)
	}
	return nil
}
