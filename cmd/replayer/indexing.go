package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/dlq"
	"github.com/switchback-geo/switchback/internal/dlqindex"
)

// errIndexDiffers marks an index that does not agree with the topics.
var errIndexDiffers = errors.New("the index does not agree with the topics; replayer index --rebuild rebuilds it")

func (a *app) index() *cobra.Command {
	var read reading
	var check bool
	cmd := &cobra.Command{
		Use:   "index",
		Short: "Bring the SQL index up to date, check it, or rebuild it",
		Long: `Read what is new in the DLQ and its status topic into the table dead_letter_queue, which list,
groups and stats answer from and which you may query yourself. They bring it up to date by
themselves; this command is for a database that others query, and for a first time that takes long.

--check reads both topics again and compares every dead letter with its row; it changes nothing.`,
		Args: a.fileArgument,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runIndex(cmd.Context(), &read, check) },
	}
	read.register(cmd)
	cmd.Flags().BoolVar(&check, "check", false, "compare the index, as it is, with the topics")
	cmd.Flags().BoolVar(&read.rebuild, "rebuild", false, "drop what the index has of this DLQ and read it from its start; a damaged file is kept as FILE.damaged")
	cmd.MarkFlagsMutuallyExclusive("check", "rebuild")
	return cmd
}

func (a *app) runIndex(ctx context.Context, read *reading, check bool) error {
	s, err := a.browse(ctx, read)
	if err != nil {
		return err
	}
	defer s.Close()
	if check {
		return a.checkIndex(ctx, s)
	}
	fill := s.Index().Sync
	if read.rebuild {
		fill = s.Index().Rebuild
	}
	done, err := fill(ctx)
	if err != nil {
		return err
	}
	return a.writeSynced(s, done)
}

func (a *app) writeSynced(s *dlq.Service, done dlqindex.Synced) error {
	if a.output != "table" {
		return a.object(s.NewSyncedJSON(done))
	}
	_, err := fmt.Fprintf(a.env.Out, "%s: %s and %s of %s taken in, %s found gone\n", cli.CleanText(s.Index().Place(), cli.OneLine),
		count(done.Letters, "dead letter"), count(done.States, "state"), s.Topic(), count(done.Gone, "dead letter"))
	return err
}

func (a *app) checkIndex(ctx context.Context, s *dlq.Service) error {
	found, err := s.Index().Check(ctx)
	if err != nil {
		return err
	}
	if err := a.writeChecked(s, found); err != nil {
		return err
	}
	if found.Total > 0 {
		return errIndexDiffers
	}
	return nil
}

func (a *app) writeChecked(s *dlq.Service, found dlqindex.Checked) error {
	if a.output != "table" {
		return a.object(s.NewCheckedJSON(found))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s of %s compared, %s\n", cli.CleanText(s.Index().Place(), cli.OneLine), count(found.Letters, "dead letter"), s.Topic(), count(found.Total, "fault"))
	for _, f := range found.Faults {
		fmt.Fprintf(&b, "  %s\n", cli.CleanText(f, cli.OneLine))
	}
	if rest := found.Total - len(found.Faults); rest > 0 {
		fmt.Fprintf(&b, "  and %d more\n", rest)
	}
	_, err := io.WriteString(a.env.Out, b.String())
	return err
}
