package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/switchback-geo/switchback/internal/browse"
	"github.com/switchback-geo/switchback/internal/cli"
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
	fill := s.Sync
	if read.rebuild {
		fill = s.Rebuild
	}
	done, err := fill(ctx)
	if err != nil {
		return err
	}
	return a.writeSynced(s, done)
}

type syncedJSON struct {
	Index       string  `json:"index"`
	DLQ         string  `json:"dlq"`
	Letters     int     `json:"letters"`
	States      int     `json:"states"`
	Gone        int     `json:"gone"`
	Anew        string  `json:"anew,omitempty"`
	TookSeconds float64 `json:"took_seconds"`
}

func (a *app) writeSynced(s *browse.Service, done dlqindex.Synced) error {
	if a.output != "table" {
		return a.object(syncedJSON{
			Index: s.Place(), DLQ: s.Topic(), Letters: done.Letters, States: done.States, Gone: done.Gone, Anew: done.Anew,
			TookSeconds: done.Took.Round(time.Millisecond).Seconds(),
		})
	}
	_, err := fmt.Fprintf(a.env.Out, "%s: %s and %s of %s taken in, %s found gone\n", cli.CleanText(s.Place(), cli.OneLine),
		count(done.Letters, "dead letter"), count(done.States, "state"), s.Topic(), count(done.Gone, "dead letter"))
	return err
}

type checkedJSON struct {
	Index   string   `json:"index"`
	DLQ     string   `json:"dlq"`
	Letters int      `json:"letters"`
	Faults  int      `json:"faults"`
	Found   []string `json:"found"`
}

func (a *app) checkIndex(ctx context.Context, s *browse.Service) error {
	found, err := s.Check(ctx)
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

func (a *app) writeChecked(s *browse.Service, found dlqindex.Checked) error {
	if a.output != "table" {
		list := found.Faults
		if list == nil {
			list = []string{}
		}
		return a.object(checkedJSON{Index: s.Place(), DLQ: s.Topic(), Letters: found.Letters, Faults: found.Total, Found: list})
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s of %s compared, %s\n", cli.CleanText(s.Place(), cli.OneLine), count(found.Letters, "dead letter"), s.Topic(), count(found.Total, "fault"))
	for _, f := range found.Faults {
		fmt.Fprintf(&b, "  %s\n", cli.CleanText(f, cli.OneLine))
	}
	if rest := found.Total - len(found.Faults); rest > 0 {
		fmt.Fprintf(&b, "  and %d more\n", rest)
	}
	_, err := io.WriteString(a.env.Out, b.String())
	return err
}
