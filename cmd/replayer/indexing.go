package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/dlq"
)

// errIndexDiffers is the error about an index that differs from the topics.
var errIndexDiffers = errors.New("the index does not agree with the topics; replayer index --rebuild rebuilds it")

func (a *app) index() *cobra.Command {
	var check bool
	cmd := &cobra.Command{
		Use:   "index",
		Short: "Bring the SQL index up to date, check it, or rebuild it",
		Long: `Read what is new in the DLQ and its status topic into the table dead_letter_queue, which list,
groups and stats answer from and which you may query yourself. They update it
themselves; this command is for a database that others query, and for a first fill that takes long.

--check reads both topics again and compares every dead letter with its row; it changes nothing.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runIndex(cmd.Context(), check) },
	}
	a.dlqFlags.register(cmd)
	cmd.Flags().BoolVar(&check, "check", false, "compare the index, as it is, with the topics")
	cmd.Flags().BoolVar(&a.dlqFlags.rebuild, "rebuild", false, "delete this DLQ's rows and read the DLQ from its start; a damaged file is kept as FILE.damaged")
	cmd.MarkFlagsMutuallyExclusive("check", "rebuild")
	return cmd
}

func (a *app) runIndex(ctx context.Context, check bool) error {
	s, err := a.browse(ctx, false)
	if err != nil {
		return err
	}
	if check {
		return a.checkIndex(ctx, s)
	}
	fill := s.Index().Sync
	if a.dlqFlags.rebuild {
		fill = s.Index().Rebuild
	}
	done, err := fill(ctx)
	if err != nil {
		return err
	}
	return a.answer(s.NewSyncedJSON(done), fmt.Sprintf("%s: %s and %s of %s taken in, %s found gone\n", cli.CleanText(s.Index().Place(), cli.OneLine),
		cli.Count(done.Letters, "dead letter"), cli.Count(done.States, "state"), s.Topic(), cli.Count(done.Gone, "dead letter")))
}

func (a *app) checkIndex(ctx context.Context, s *dlq.Service) error {
	found, err := s.Index().Check(ctx)
	if err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s of %s compared, %s\n", cli.CleanText(s.Index().Place(), cli.OneLine), cli.Count(found.Letters, "dead letter"), s.Topic(), cli.Count(found.Total, "fault"))
	for _, f := range found.Faults {
		fmt.Fprintf(&b, "  %s\n", cli.CleanText(f, cli.OneLine))
	}
	if rest := found.Total - len(found.Faults); rest > 0 {
		fmt.Fprintf(&b, "  and %d more\n", rest)
	}
	if err := a.answer(s.NewCheckedJSON(found), b.String()); err != nil {
		return err
	}
	if found.Total > 0 {
		return errIndexDiffers
	}
	return nil
}
