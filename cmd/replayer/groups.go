package main

import (
	"cmp"
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/dlq"
)

func (a *app) groups() *cobra.Command {
	var sel selection
	var read reading
	var values bool
	cmd := &cobra.Command{
		Use:   "groups",
		Short: "Group dead letters by what they died of",
		Long: fmt.Sprintf(`Group the dead letters that all given flags select by code, stage and message, with ids and
numbers removed from the message; behind the message of a wrapper, also by the innermost "Caused by" of
the stack trace. The largest group comes first. SHARE is the group's dead letters for
each record that the consumer took from the source topic in the same time. Kafka tells offsets, of which
transaction markers and aborted records have some too, so the share is at least what is shown.

--values reads the oldest %d dead letters of each of the first %d groups, and counts the values for
which today's transform refuses them. They are payload: think of who sees the screen.`, dlq.ValuesOf, mostValued),
		Args: a.fileArgument,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runGroups(cmd.Context(), &sel, &read, values) },
	}
	sel.register(cmd)
	read.register(cmd)
	read.registerGone(cmd)
	cmd.Flags().BoolVar(&values, "values", false, "count the values that today's transform refuses, by group")
	return cmd
}

func (a *app) runGroups(ctx context.Context, sel *selection, read *reading, values bool) error {
	if values && a.alone(read) {
		return usage("--values needs a pipeline file (-c): its transform says which value it refuses")
	}
	filter, err := a.filter(sel)
	if err != nil {
		return err
	}
	s, err := a.browse(ctx, read)
	if err != nil {
		return err
	}
	defer s.Close()
	groups, err := s.Groups(ctx, read.query(a, filter))
	if err != nil {
		return err
	}
	for i, g := range groups[:min(len(groups), mostValued)] {
		if !values {
			break
		}
		v, err := s.Values(ctx, read.query(a, filter), g.Group)
		if err != nil {
			return err
		}
		groups[i].Values = &v
	}
	if err := a.writeGroups(read, groups); err != nil {
		return err
	}
	if len(groups) == 0 {
		return nothing()
	}
	return nil
}

func (a *app) writeGroups(read *reading, groups []dlq.Group) error {
	if a.output == "table" {
		return a.groupTable(read, groups)
	}
	e := a.emitter()
	for _, g := range groups {
		if err := e.emit(dlq.NewGroupJSON(g)); err != nil {
			return err
		}
	}
	return e.end()
}

// seenAt is when the dead letters of a group died, UTC.
const seenAt = "2006-01-02 15:04:05"

func (a *app) groupTable(read *reading, groups []dlq.Group) error {
	if len(groups) == 0 {
		return nil
	}
	t := table{columns: []column{
		{title: "COUNT", right: true}, {title: "SHARE", right: true}, {title: "PENDING", right: true}, {title: "REPLAYED", right: true}, {title: "DISCARDED", right: true},
		{title: "GROUP"}, {title: "CODE"},
	}}
	total := 0
	for _, g := range groups {
		total += g.Count
		t.add(strconv.Itoa(g.Count), shareText(g.Share), strconv.Itoa(g.Statuses[deadletters.Pending]), strconv.Itoa(g.Replayed),
			strconv.Itoa(g.Statuses[deadletters.Discarded]-g.PutBack), g.ID, orDash(g.Code))
		t.note(orDash(cmp.Or(g.Said, g.Message))) // in the pattern 502 and 503 are alike
		if g.CausedBy != "" {
			t.note("caused by " + g.CausedBy)
		}
		t.note("from " + g.FirstSeen.UTC().Format(seenAt) + " to " + g.LastSeen.UTC().Format(seenAt))
		if g.PutBack > 0 {
			t.note(fmt.Sprintf("%d %s", g.PutBack, putBack))
		}
		if n := g.Note; n != nil {
			t.note(fmt.Sprintf("note by %s, %s: %s", n.By, n.At.UTC().Format(seenAt), n.Text))
		}
		if g.Values != nil {
			t.note(valueNotes(g.Values)...)
		}
	}
	if err := t.write(a.env.Out, a.env); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.env.Err, "%s in %s; look at one with: replayer show %s %s\n",
		count(total, "dead letter"), count(len(groups), "group"), a.meant(read), quoted(groups[0].Example))
	return err
}

// shareText is a share as people read it, which is a lower bound.
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
