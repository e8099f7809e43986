package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/consumer"
	"github.com/switchback-geo/switchback/internal/sink"
)

func newSink() *cobra.Command {
	cmd := &cobra.Command{Use: "sink", Short: "Print or create the PostGIS table, or change its key"}
	cmd.AddCommand(newSinkDDL(), newSinkEnsure(), newSinkRekey())
	return cmd
}

// withTable is [withFile] for a pipeline that has a table.
func withTable(cmd *cobra.Command, run fileRun) *cobra.Command {
	return withFile(cmd, func(cmd *cobra.Command, cfg *config.Config, file string) error {
		if cfg.Sink.PostGIS == nil {
			return usageError(errors.New("the pipeline has no table: add sink.postgis to the file"))
		}
		return run(cmd, cfg, file)
	})
}

func newSinkDDL() *cobra.Command {
	return withTable(&cobra.Command{
		Use:   "ddl -c FILE | psql …",
		Short: "Print the statements that create the table and its guard if they are missing; contacts no database",
	}, func(cmd *cobra.Command, cfg *config.Config, _ string) error {
		ddl, err := sink.DDL(cfg)
		fmt.Fprint(cmd.OutOrStdout(), ddl)
		return err
	})
}

func newSinkEnsure() *cobra.Command {
	var execute bool
	cmd := withTable(&cobra.Command{
		Use:   "ensure -c FILE",
		Short: "Print the missing parts of the table and its guard; with --execute, create them",
		Long: `Look at the database and print the statements that create what is missing: the table with a typed column for each field of
the mapping, its geometry with SRID and dimension, its GiST index, comments, the guard; or the missing columns of an existing
table. With --execute it runs them in one transaction; an index on a table with rows is created last, without blocking others.

Nothing that exists is changed. Other differences (a type, an SRID) are listed with the statement that you can run.

Exit codes: 0 the table fits, or will; 1 it differs in something that this command does not create, or the database refuses.`,
	}, func(cmd *cobra.Command, cfg *config.Config, file string) error {
		done, err := sink.Ensure(cmd.Context(), cfg, execute)
		if err != nil {
			return err
		}
		return printEnsured(cmd, cfg.Sink.PostGIS.Table, file, done, execute)
	})
	cmd.Flags().BoolVar(&execute, "execute", false, "run the statements")
	return cmd
}

func printEnsured(cmd *cobra.Command, table, file string, done sink.Ensured, execute bool) error {
	if len(done.Statements) > 0 {
		fmt.Fprintln(cmd.OutOrStdout(), strings.Join(done.Statements, "\n"))
	}
	switch notes := cmd.ErrOrStderr(); {
	case len(done.Left) > 0:
		return &sink.TableError{Table: table, Mismatches: done.Left}
	case len(done.Statements) == 0:
		fmt.Fprintf(notes, "table %s has everything it needs\n", table)
	case execute:
		fmt.Fprintf(notes, "done: %s\n", cli.Count(len(done.Statements), "statement"))
	default:
		fmt.Fprintf(notes, "nothing is changed; run: consumer sink ensure -c %s --execute\n", file)
	}
	return nil
}

func newSinkRekey() *cobra.Command {
	var execute bool
	cmd := withTable(&cobra.Command{
		Use:   "rekey -c FILE",
		Short: "Change the key of a table with rows to sink.key of the file; with --execute, keep the change",
		Long: `Change a table with rows, and its guard, to the sink.key of the pipeline file: each row gets the key by which it is found
from then on. It is one transaction, which locks both tables; without --execute it is rolled back.

Stop all instances before. The user of the connection string must own both tables. For feature_id the output topic is read
once; for a path the record keys in the guard are enough. If a row would get no key, or that of another record key,
the command names it and changes nothing. Memory: 5000 keys.`,
	}, func(cmd *cobra.Command, cfg *config.Config, file string) error { return rekey(cmd, cfg, file, execute) })
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
		fmt.Fprintf(out, "table %s already uses the key %q\n", cfg.Sink.PostGIS.Table, done.To)
	case execute:
		fmt.Fprintf(out, "the key of table %s changed from %q to %q: %d rows have another key, %d keys are remembered; start the consumers\n", cfg.Sink.PostGIS.Table, done.From, done.To, done.Rows, done.Keys)
	default:
		fmt.Fprintf(out, "the key of table %s is %q; with %q, %d rows would have another key, %d keys are remembered\n\nNothing is changed. Stop all instances, then: consumer sink rekey -c %s --execute\n",
			cfg.Sink.PostGIS.Table, done.From, done.To, done.Rows, done.Keys, file)
	}
	return nil
}
