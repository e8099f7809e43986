package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/switchback-geo/switchback/internal/browse"
	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/dlqindex"
)

func (a *app) stats() *cobra.Command {
	var read reading
	var fail bool
	cmd := &cobra.Command{
		Use:   "stats",
		Short: "Count dead letters by status, day and code; show the oldest",
		Long: fmt.Sprintf(`Count the dead letters: by status, the pending ones by day, code and pipeline; say which is the
oldest pending one, and when retention deletes it.

It warns when more than %d dead letters of one pipeline died today (UTC) and are pending, when more than
%d are pending in all, when retention deleted pending dead letters, and when it can delete some.`, browse.ManyPerDay, browse.ManyInAll),
		Args: a.fileArgument,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runStats(cmd.Context(), &read, fail) },
	}
	read.register(cmd)
	cmd.Flags().BoolVar(&fail, "fail-on-warning", false, "end with 4 when there is a warning, for a scheduler")
	return cmd
}

func (a *app) runStats(ctx context.Context, read *reading, fail bool) error {
	s, err := a.browse(ctx, read)
	if err != nil {
		return err
	}
	defer s.Close()
	stats, err := s.Stats(ctx)
	if err != nil {
		return err
	}
	if a.output == "table" {
		err = a.statsTable(stats)
	} else {
		err = a.object(statsOf(stats, a.env.Now()))
	}
	if err == nil && fail && len(stats.Warnings) > 0 {
		err = exit(cli.ExitPartly, errors.New(strings.Join(stats.Warnings, "; ")))
	}
	return err
}

type statsJSON struct {
	DLQ       string              `json:"dlq"`
	Letters   int                 `json:"letters"`
	Statuses  map[string]int      `json:"statuses"`
	Pending   []dlqindex.DayCount `json:"pending"`
	Lost      int                 `json:"lost"`
	Oldest    *oldestJSON         `json:"oldest_pending"`
	Retention retentionJSON       `json:"retention"`
	Warnings  []string            `json:"warnings"`
}

type oldestJSON struct {
	ID         string `json:"id"`
	DiedAt     string `json:"died_at"` // last
	FirstDied  string `json:"first_died_at"`
	AgeSeconds int64  `json:"age_seconds"` // since its first death: a replay that failed does not make it younger
	// DeletedInSeconds is how long retention leaves it at least; null when time deletes nothing.
	DeletedInSeconds *int64 `json:"deleted_in_seconds"`
}

type retentionJSON struct {
	Milliseconds *int64 `json:"ms"` // -1 is for ever; null when it is not known
	Bytes        *int64 `json:"bytes"`
}

func statsOf(s browse.Stats, now time.Time) statsJSON {
	out := statsJSON{
		DLQ: s.Topic, Letters: s.Letters, Statuses: map[string]int{}, Pending: s.Pending, Lost: s.Lost, Warnings: s.Warnings,
	}
	for status, n := range s.Statuses {
		out.Statuses[statusText(status)] = n
	}
	if out.Pending == nil {
		out.Pending = []dlqindex.DayCount{}
	}
	if out.Warnings == nil {
		out.Warnings = []string{}
	}
	if s.Retention.Known {
		ms := max(s.Retention.Time.Milliseconds(), -1)
		out.Retention = retentionJSON{Milliseconds: &ms, Bytes: &s.Retention.Bytes}
	}
	if s.Oldest != nil {
		out.Oldest = &oldestJSON{ID: s.Oldest.ID, DiedAt: timeText(s.Oldest.At), FirstDied: timeText(s.Oldest.FirstAt), AgeSeconds: int64(now.Sub(s.Oldest.FirstAt) / time.Second)}
		if at := s.Retention.Deletes; !at.IsZero() {
			left := int64(max(at.Sub(now), 0) / time.Second)
			out.Oldest.DeletedInSeconds = &left
		}
	}
	return out
}

func (a *app) statsTable(s browse.Stats) error {
	const warning = "warning"
	var b strings.Builder
	line := func(name, value string) {
		text := wrapped(a.env, fmt.Sprintf("%-16s %s", name, cli.CleanText(value, cli.OneLine)), strings.Repeat(" ", 17))
		if name == warning {
			text = a.painted(red, name) + text[len(name):]
		}
		fmt.Fprintln(&b, text)
	}
	line("dlq", s.Topic)
	line("dead letters", strconv.Itoa(s.Letters))
	for _, status := range append(deadletters.Statuses(), "") {
		if n := s.Statuses[status]; n > 0 {
			line("  "+statusText(status), strconv.Itoa(n))
		}
	}
	if s.Lost > 0 {
		line("lost", fmt.Sprintf("%d pending dead letters that retention deleted", s.Lost))
	}
	if s.Oldest != nil {
		again := ""
		if s.Oldest.At.After(s.Oldest.FirstAt) {
			again = ", again at " + timeText(s.Oldest.At)
		}
		line("oldest pending", fmt.Sprintf("%s, died %s (%s ago)%s", s.Oldest.ID, timeText(s.Oldest.FirstAt), ageText(a.env.Now().Sub(s.Oldest.FirstAt)), again))
	}
	line("retention", retentionText(s.Retention, a.env.Now()))
	for _, w := range s.Warnings {
		line(warning, w)
	}
	if len(s.Pending) > 0 {
		b.WriteByte('\n')
	}
	if _, err := fmt.Fprint(a.env.Out, b.String()); err != nil {
		return err
	}
	if len(s.Pending) == 0 {
		return nil
	}
	t := table{columns: []column{{title: "DAY"}, {title: "PENDING", right: true}, {title: "CODE"}, {title: "PIPELINE"}}}
	for _, n := range s.Pending {
		t.add(n.Day, strconv.Itoa(n.Letters), orDash(n.Code), orDash(n.Pipeline))
	}
	return t.write(a.env.Out, a.env)
}

func retentionText(r browse.Retention, now time.Time) string {
	switch {
	case !r.Known:
		return "not known: the topic's settings cannot be read"
	case r.Time < 0:
		return "for ever"
	case r.Deletes.IsZero():
		return "dead letters are deleted after " + ageText(r.Time)
	case !r.Deletes.After(now):
		return "dead letters are deleted after " + ageText(r.Time) + "; the oldest pending one can be deleted at any moment"
	default:
		return "dead letters are deleted after " + ageText(r.Time) + "; the oldest pending one in " + ageText(r.Deletes.Sub(now)) + " at the earliest"
	}
}

// ageText is a duration as people say it: its two largest units.
func ageText(d time.Duration) string {
	days, hours, minutes := int(d.Hours())/24, int(d.Hours())%24, int(d.Minutes())%60
	switch {
	case days > 0:
		return fmt.Sprintf("%d d %d h", days, hours)
	case hours > 0:
		return fmt.Sprintf("%d h %d min", hours, minutes)
	case minutes > 0:
		return fmt.Sprintf("%d min", minutes)
	default:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	}
}
