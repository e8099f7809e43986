package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/switchback-geo/switchback/internal/browse"
	"github.com/switchback-geo/switchback/internal/deadletters"
)

func (a *app) groups() *cobra.Command {
	var sel selection
	var read reading
	var values bool
	cmd := &cobra.Command{
		Use:   "groups",
		Short: "Group dead letters by what they died of",
		Long: fmt.Sprintf(`Group the dead letters that all given flags select by code, stage and message, with ids and
numbers removed from the message. The largest group comes first. SHARE is the group's dead letters for
each record that the consumer took from the source topic in the same time. Kafka tells offsets, of which
transaction markers and aborted records have some too, so the share is at least what is shown.

--values reads the oldest %d dead letters of each of the first %d groups, and counts the values for
which today's transform refuses them. They are payload: think of who sees the screen.`, browse.ValuesOf, mostValued),
		Args: a.fileArgument,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runGroups(cmd.Context(), &sel, &read, values) },
	}
	sel.register(cmd)
	read.register(cmd)
	read.registerGone(cmd)
	cmd.Flags().BoolVar(&values, "values", false, "count the values that today's transform refuses, by group")
	return cmd
}

// valued is a group, and the values that its dead letters are refused for; nil when they were not asked for.
type valued struct {
	browse.Group

	values *browse.Values
}

func unvalued(groups []browse.Group) []valued {
	all := make([]valued, len(groups))
	for i, g := range groups {
		all[i].Group = g
	}
	return all
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
	all := unvalued(groups)
	for i, g := range groups[:min(len(groups), mostValued)] {
		if !values {
			break
		}
		v, err := s.Values(ctx, read.query(a, filter), g.Group)
		if err != nil {
			return err
		}
		all[i].values = &v
	}
	if err := a.writeGroups(read, all); err != nil {
		return err
	}
	if len(groups) == 0 {
		return nothing()
	}
	return nil
}

type groupJSON struct {
	ID        string         `json:"id"`
	Code      string         `json:"code"`
	Stage     string         `json:"stage"`
	Message   string         `json:"message"`
	Count     int            `json:"count"`
	FirstSeen string         `json:"first_seen"`
	LastSeen  string         `json:"last_seen"`
	Bytes     int64          `json:"bytes"`
	Share     *float64       `json:"share"` // of the records of the source topic that the consumer has taken, at least; null when it is not known
	Replayed  int            `json:"replayed"`
	Statuses  map[string]int `json:"statuses"`
	Example   exampleJSON    `json:"example"`
	Values    *valuesJSON    `json:"values,omitempty"` // with --values
}

type exampleJSON struct {
	ID      string `json:"id"`
	Message string `json:"message"`
}

func groupOf(g valued) groupJSON {
	statuses := map[string]int{}
	for s, n := range g.Statuses {
		statuses[statusText(s)] = n
	}
	out := groupJSON{
		ID: g.ID, Code: g.Code, Stage: g.Stage, Message: g.Message, Count: g.Count,
		FirstSeen: timeText(g.FirstSeen), LastSeen: timeText(g.LastSeen), Bytes: g.Bytes,
		Replayed: g.Replayed, Statuses: statuses, Example: exampleJSON{ID: g.Example, Message: g.Said},
	}
	if g.Share >= 0 {
		out.Share = &g.Share
	}
	if g.values != nil {
		out.Values = valuesOf(g.values)
	}
	return out
}

func (a *app) writeGroups(read *reading, groups []valued) error {
	if a.output == "table" {
		return a.groupTable(read, groups)
	}
	e := a.emitter()
	for _, g := range groups {
		if err := e.emit(groupOf(g)); err != nil {
			return err
		}
	}
	return e.end()
}

// seenAt is when the dead letters of a group died, UTC.
const seenAt = "2006-01-02 15:04:05"

func (a *app) groupTable(read *reading, groups []valued) error {
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
			strconv.Itoa(g.Statuses[deadletters.Discarded]), g.ID, orDash(g.Code))
		t.note(orDash(g.Message), "from "+g.FirstSeen.UTC().Format(seenAt)+" to "+g.LastSeen.UTC().Format(seenAt))
		if g.values != nil {
			t.note(valueNotes(g.values)...)
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
