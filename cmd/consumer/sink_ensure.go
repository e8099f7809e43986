package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/switchback-geo/switchback/internal/sink"
)

func newSinkEnsure() *cobra.Command {
	var file string
	var execute bool
	cmd := &cobra.Command{
		Use:   "ensure -c FILE",
		Short: "Print what of the table, its columns and its guard is not there; with --execute, make it",
		Long: `Look at the database and print the statements that make what is not there: the table with a typed column for each field of the
mapping, its geometry with SRID and dimension, its GiST index, comments, the guard; or, for a table that is there, the columns
that it has not. With --execute they are run, in one transaction; an index on a table with rows is made last and blocks nobody.

Nothing that is there is changed. What differs otherwise (a type, an SRID) is listed with the statement that a person may run.

Exit codes: 0 the table fits, or will; 1 it differs in what is not made here, or the database refuses.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := loadTable(file)
			if err != nil {
				return err
			}
			done, err := sink.Ensure(cmd.Context(), cfg, execute)
			if err != nil {
				return err
			}
			return printEnsured(cmd, cfg.Sink.PostGIS.Table, file, done, execute)
		},
	}
	configFlag(cmd, &file)
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
		fmt.Fprintf(notes, "table %s has all that it needs\n", table)
	case execute:
		fmt.Fprintf(notes, "done: %s\n", count(len(done.Statements), "statement"))
	default:
		fmt.Fprintf(notes, "nothing is changed; run: consumer sink ensure -c %s --execute\n", file)
	}
	return nil
}
