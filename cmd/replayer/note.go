package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/control"
)

func (a *app) note() *cobra.Command {
	var read reading
	var remove bool
	cmd := &cobra.Command{
		Use:   "note GROUP TEXT",
		Short: "Write a note on a group of dead letters",
		Long: fmt.Sprintf(`Write a note on a group, which replayer groups and the web console show with who wrote it and when. It takes the place of the
note before, and acts at once, without --execute. Notes are kept in the control topic, and each has an audit event. They have at
most %d bytes. On a pipeline's groups they need the permissions of consumer pause; for another DLQ, replayer acls lists all.`, control.MaxNote),
		Args: func(_ *cobra.Command, args []string) error {
			if remove && len(args) == 1 || !remove && len(args) == 2 && strings.TrimSpace(args[1]) != "" {
				return nil
			}
			return errors.New("note takes the id of a group (replayer groups shows them) and a text in quotes, or --remove instead of the text")
		},
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runNote(cmd.Context(), &read, args[0], strings.Join(args[1:], ""))
		},
	}
	cmd.Flags().BoolVar(&remove, "remove", false, "remove the note")
	read.register(cmd)
	return cmd
}

func (a *app) runNote(ctx context.Context, read *reading, group, text string) error {
	s, err := a.browse(ctx, read)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.WriteNote(ctx, group, text, a.by, nil); err != nil {
		return err
	}
	done := "noted on group "
	if text == "" {
		done = "removed the note on group "
	}
	_, err = fmt.Fprintln(a.env.Err, done+cli.CleanText(group, cli.OneLine))
	return err
}
