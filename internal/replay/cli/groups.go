package cli

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
	cmd := &cobra.Command{
		Use:   "groups",
		Short: "Group dead letters by what they died of",
		Long: `Group the dead letters that all given flags select by code, stage and message, with ids and
numbers removed from the message. The largest group comes first. SHARE is the group's letters for
each record that the source topic got in the same time.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runGroups(cmd.Context(), &sel, &read) },
	}
	sel.register(cmd)
	read.register(cmd)
	read.registerGone(cmd)
	return cmd
}

func (a *app) runGroups(ctx context.Context, sel *selection, read *reading) error {
	filter, err := sel.filter(a.env.Now())
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
	if err := a.writeGroups(read, groups); err != nil {
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
	Share     *float64       `json:"share"` // of the source topic's records; null when it is not known
	Replayed  int            `json:"replayed"`
	Statuses  map[string]int `json:"statuses"`
	Example   exampleJSON    `json:"example"`
}

type exampleJSON struct {
	ID      string `json:"id"`
	Message string `json:"message"`
}

func groupOf(g browse.Group) groupJSON {
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
	return out
}

func (a *app) writeGroups(read *reading, groups []browse.Group) error {
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

func (a *app) groupTable(read *reading, groups []browse.Group) error {
	if len(groups) == 0 {
		return nil
	}
	t := table{columns: []column{
		{title: "COUNT", right: true}, {title: "SHARE", right: true}, {title: "PENDING", right: true}, {title: "REPLAYED", right: true}, {title: "GROUP"},
		{title: "CODE"}, {title: "FIRST SEEN"}, {title: "LAST SEEN"}, {title: "MESSAGE"},
	}}
	total := 0
	for _, g := range groups {
		total += g.Count
		t.add(strconv.Itoa(g.Count), shareText(g.Share), strconv.Itoa(g.Statuses[deadletters.Pending]), strconv.Itoa(g.Replayed), g.ID, orDash(g.Code),
			g.FirstSeen.UTC().Format("01-02 15:04:05"), g.LastSeen.UTC().Format("01-02 15:04:05"), g.Message)
	}
	if err := t.write(a.env.Out, a.env); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.env.Err, "%s in %s; look at one with: replayer show %s %s\n",
		count(total, "letter"), count(len(groups), "group"), a.meant(read), quoted(groups[0].Example))
	return err
}

// shareText is a share as people read it.
func shareText(share float64) string {
	switch {
	case share < 0:
		return "-"
	case share > 0 && share < 0.0001:
		return "<0.01 %"
	default:
		return strconv.FormatFloat(share*100, 'f', 2, 64) + " %"
	}
}
