package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/dlq"
)

func (a *app) groups() *cobra.Command {
	var sel selection
	var values bool
	cmd := &cobra.Command{
		Use:   "groups",
		Short: "Group dead letters by cause",
		Long: fmt.Sprintf(`Group the dead letters that all given flags select by code, stage and message, with ids and
numbers removed from the message; behind the message of a wrapper, also by the innermost "Caused by" of
the stack trace. The largest group comes first. SHARE is the group's dead letters for
each record that the consumer took from the source topic in the same time. Kafka counts offsets, which
include transaction markers and aborted records, so the real share is at least the one shown.

--values reads the oldest %d dead letters of each of the first %d groups, and counts the values for
which today's transform refuses them. They are payload: consider who can see the screen.`, dlq.ValuesOf, maxValuedGroups),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runGroups(cmd.Context(), &sel, values) },
	}
	sel.register(cmd)
	a.dlqFlags.register(cmd)
	a.dlqFlags.registerGone(cmd)
	cmd.Flags().BoolVar(&values, "values", false, "count the values that today's transform refuses, by group")
	return cmd
}

func (a *app) runGroups(ctx context.Context, sel *selection, values bool) error {
	if values && a.alone() {
		return cli.UsageError("--values needs a pipeline file (-c): its transform says which value it refuses")
	}
	filter, err := a.filter(sel)
	if err != nil {
		return err
	}
	s, err := a.browse(ctx, false)
	if err != nil {
		return err
	}
	groups, err := s.Groups(ctx, a.query(filter))
	if err != nil {
		return err
	}
	for i, g := range groups[:min(len(groups), maxValuedGroups)] {
		if !values {
			break
		}
		v, err := s.Values(ctx, a.query(filter), g.Group)
		if err != nil {
			return err
		}
		groups[i].Values = &v
	}
	return a.writeGroups(groups)
}

func (a *app) writeGroups(groups []dlq.Group) error {
	if a.output == "table" {
		return a.groupTable(groups)
	}
	e := a.emitter()
	for _, g := range groups {
		if err := e.Emit(dlq.NewGroupJSON(g)); err != nil {
			return err
		}
	}
	return e.End(nothing())
}

// seenAt is the layout of times in tables, in UTC.
const seenAt = "2006-01-02 15:04:05"

func (a *app) groupTable(groups []dlq.Group) error {
	if len(groups) == 0 {
		return nothing()
	}
	t := cli.Table{Columns: []cli.Column{
		{Title: "COUNT", Right: true}, {Title: "SHARE", Right: true}, {Title: "PENDING", Right: true}, {Title: "REPLAYED", Right: true}, {Title: "DISCARDED", Right: true},
		{Title: "GROUP"}, {Title: "CODE"},
	}}
	total := 0
	for _, g := range groups {
		total += g.Count
		t.Add(strconv.Itoa(g.Count), shareText(g.Share), strconv.Itoa(g.Statuses[deadletters.Pending]), strconv.Itoa(g.Replayed),
			strconv.Itoa(g.Statuses[deadletters.Discarded]-g.PutBack), g.ID, orDash(g.Code))
		t.Note(orDash(cmp.Or(g.Said, g.Message))) // the pattern of a group hides numbers such as 502
		if g.CausedBy != "" {
			t.Note("caused by " + g.CausedBy)
		}
		t.Note("from " + g.FirstSeen.UTC().Format(seenAt) + " to " + g.LastSeen.UTC().Format(seenAt))
		if g.PutBack > 0 {
			t.Note(fmt.Sprintf("%d %s", g.PutBack, putBack))
		}
		if n := g.Note; n != nil {
			t.Note(fmt.Sprintf("note by %s, %s: %s", n.By, n.At.UTC().Format(seenAt), n.Text))
		}
		if g.Values != nil {
			t.Note(valueNotes(g.Values)...)
		}
	}
	if err := a.print(t.Text(a.screen())); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.env.Err, "%s in %s; look at one with: replayer show %s %s\n",
		cli.Count(total, "dead letter"), cli.Count(len(groups), "group"), a.dlqText(), cli.ShellWord(groups[0].Example))
	return err
}

// shareText returns the text of a share, which is a lower bound.
func shareText(share float64) string {
	switch {
	case share < 0:
		return "-"
	case share > 0 && share < 0.0001:
		return ">0 %"
	default:
		return "≥" + strconv.FormatFloat(share*100, 'f', 2, 64) + " %"
	}
}

const (
	maxValuedGroups = 20 // groups whose values are counted
	maxValues       = 5  // of a group that a table shows
)

// valueNotes returns the refused values of a group as lines below its row.
func valueNotes(v *dlq.Values) []string {
	of := "of the oldest " + cli.Count(v.Asked, "dead letter")
	switch {
	case v.Asked == 0:
		return []string{"no dead letter of it has bytes that can be read, so today's transform was not asked"}
	case v.Failing == 0:
		return []string{"today's transform passes all " + of}
	case v.Known == 0:
		return []string{fmt.Sprintf("today's transform refuses %d of the oldest %d, but not for one value", v.Failing, v.Asked)}
	}
	shown := v.Each[:min(len(v.Each), maxValues)]
	lines, rest := make([]string, 0, len(shown)+1), v.Known
	for _, one := range shown {
		lines = append(lines, fmt.Sprintf("%*d × %s at %s", len(strconv.Itoa(shown[0].Letters)), one.Letters, one.Text, one.Path))
		rest -= one.Letters
	}
	if rest > 0 {
		others := len(v.Each) - len(shown)
		line := fmt.Sprintf("%s with %s", cli.Count(rest, "dead letter"), cli.Count(others, "other value"))
		if rest == others {
			line = cli.Count(others, "other value") + ", once each"
		}
		if rest == 1 {
			line = "1 other value, once"
		}
		lines = append(lines, line)
	}
	if passing := v.Asked - v.Failing; passing > 0 {
		of += fmt.Sprintf("; today's transform passes %d of them", passing)
	}
	return append(lines, of)
}

func (a *app) note() *cobra.Command {
	var remove bool
	cmd := &cobra.Command{
		Use:   "note GROUP TEXT",
		Short: "Write a note on a group of dead letters",
		Long: fmt.Sprintf(`Write a note on a group, which replayer groups and the web console show with who wrote it and when. It replaces the previous
note and takes effect at once, without --execute. Notes are kept in the control topic, and each has an audit event. They have at
most %d bytes. On a pipeline's groups they need the permissions of consumer pause; for another DLQ, replayer acls lists all.`, control.MaxNote),
		Args: func(_ *cobra.Command, args []string) error {
			if remove && len(args) == 1 || !remove && len(args) == 2 && strings.TrimSpace(args[1]) != "" {
				return nil
			}
			return errors.New("note takes the id of a group (replayer groups shows them) and a text in quotes, or --remove instead of the text")
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runNote(cmd.Context(), args[0], strings.Join(args[1:], ""))
		},
	}
	cmd.Flags().BoolVar(&remove, "remove", false, "remove the note")
	a.dlqFlags.register(cmd)
	return cmd
}

func (a *app) runNote(ctx context.Context, group, text string) error {
	s, err := a.browse(ctx, false)
	if err != nil {
		return err
	}
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
