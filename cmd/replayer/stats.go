package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/dlq"
)

func (a *app) stats() *cobra.Command {
	var fail bool
	cmd := &cobra.Command{
		Use:   "stats",
		Short: "Count dead letters by status, day and code; show the oldest",
		Long: fmt.Sprintf(`Count the dead letters: by status, the pending ones by day, code and pipeline. Show the oldest
pending one, and when retention deletes it.

It warns when more than %d dead letters of one pipeline died today (UTC) and are pending, when more than
%d are pending in all, when retention deleted pending dead letters, and when it can delete some.`, dlq.ManyPerDay, dlq.ManyInAll),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runStats(cmd.Context(), fail) },
	}
	a.dlqFlags.register(cmd)
	cmd.Flags().BoolVar(&fail, "fail-on-warning", false, "exit code 4 if there is a warning, for a scheduler")
	return cmd
}

func (a *app) runStats(ctx context.Context, fail bool) error {
	s, err := a.browse(ctx, false)
	if err != nil {
		return err
	}
	stats, err := s.Stats(ctx)
	if err != nil {
		return err
	}
	err = a.answer(dlq.NewStatsJSON(stats, a.env.Now()), a.statsText(stats))
	if err == nil && fail && len(stats.Warnings) > 0 {
		err = exit(cli.ExitPartly, errors.New(strings.Join(stats.Warnings, "; ")))
	}
	return err
}

// statsText returns the text of statistics.
func (a *app) statsText(s dlq.Stats) string {
	const warning = "warning"
	var b strings.Builder
	line := func(name, value string) {
		text := a.screen().Wrap(fmt.Sprintf("%-16s %s", name, cli.CleanText(value, cli.OneLine)), strings.Repeat(" ", 17))
		if name == warning {
			text = a.screen().Paint(cli.Red, name) + text[len(name):]
		}
		fmt.Fprintln(&b, text)
	}
	line("dlq", s.Topic)
	line("dead letters", strconv.Itoa(s.Letters))
	for _, status := range append(deadletters.Statuses(), "") {
		n := s.Statuses[status]
		if status == deadletters.Discarded {
			n -= s.PutBack
		}
		if n > 0 {
			line("  "+dlq.StatusText(status), strconv.Itoa(n))
		}
	}
	if s.PutBack > 0 {
		line("  "+putBack, strconv.Itoa(s.PutBack))
	}
	if s.Lost > 0 {
		line("lost", fmt.Sprintf("%d pending dead letters that retention deleted", s.Lost))
	}
	if s.Oldest != nil {
		again := ""
		if s.Oldest.At.After(s.Oldest.FirstAt) {
			again = ", again at " + dlq.TimeText(s.Oldest.At)
		}
		line("oldest pending", fmt.Sprintf("%s, died %s (%s ago)%s", s.Oldest.ID, dlq.TimeText(s.Oldest.FirstAt), cli.Age(a.env.Now().Sub(s.Oldest.FirstAt)), again))
	}
	line("retention", retentionText(s.Retention, a.env.Now()))
	for _, w := range s.Warnings {
		line(warning, w)
	}
	if len(s.Pending) == 0 {
		return b.String()
	}
	t := cli.Table{Columns: []cli.Column{{Title: "DAY"}, {Title: "PENDING", Right: true}, {Title: "CODE"}, {Title: "PIPELINE"}}}
	for _, n := range s.Pending {
		t.Add(n.Day, strconv.Itoa(n.Letters), orDash(n.Code), orDash(n.Pipeline))
	}
	return b.String() + "\n" + t.Text(a.screen())
}

// putBack is the printed status of a dead letter that was replayed into a topic whose consumers report no outcome.
const putBack = "put back"

// statusText returns the printed status of a dead letter.
func statusText(l *deadletters.Letter) string {
	if l.Status == deadletters.Discarded && l.State.Destination != "" {
		return putBack
	}
	return dlq.StatusText(l.Status)
}

func retentionText(r dlq.Retention, now time.Time) string {
	switch {
	case !r.Known:
		return "unknown: the topic's settings cannot be read"
	case r.Time < 0:
		return "for ever"
	case r.Deletes.IsZero():
		return "dead letters are deleted after " + cli.Age(r.Time)
	case !r.Deletes.After(now):
		return "dead letters are deleted after " + cli.Age(r.Time) + "; the oldest pending one can be deleted at any moment"
	default:
		return "dead letters are deleted after " + cli.Age(r.Time) + "; the oldest pending one in " + cli.Age(r.Deletes.Sub(now)) + " at the earliest"
	}
}
