package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/dlq"
	"github.com/switchback-geo/switchback/internal/replay"
	"github.com/switchback-geo/switchback/internal/replay/states"
)

func (a *app) replays() *cobra.Command {
	var wait bool
	watch := watching{}
	cmd := &cobra.Command{
		Use:   "replays [ID]",
		Short: "Show jobs and replays: in progress, stopped, ended",
		Long: `Without an id: the jobs of all replayers (replays, discards, edits and so on) with their progress and result, which replays the
consumer has not finished, who changes dead letters at present, and what keeps the consumer from finishing. With --watch,
repeatedly, with rate and remaining time; without a terminal as one line of JSON each time. The latest 100 jobs are kept, for 30 days.

With the id of a job: its progress, and the command that continues it if it stopped. Of a replay also how many dead letters it attempted, how many the consumer reprocessed and how many failed
again; of one with --watch-group, how many that group consumed, and through which records. With --wait, until the consumer has finished them all. Other software reports dead letters only when they fail
again; those that did not within dead_letters.unheard_after are shown as not heard of.`,
		Args: cobra.MaximumNArgs(1),
		PreRunE: func(_ *cobra.Command, args []string) error {
			switch {
			case wait && a.alone():
				return cli.UsageError("--wait needs a pipeline: other software does not say which dead letters it has processed")
			case wait && len(args) == 0:
				return cli.UsageError("--wait takes the id of one replay: replayer replays ID --wait; without an id, --watch follows all of them")
			case watch.on && len(args) > 0:
				return cli.UsageError("--watch follows all replays: leave the id out, or wait for one with --wait")
			case watch.on:
				return cli.CheckPeriod(watch.every)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return a.runOverview(cmd.Context(), watch)
			}
			return a.runStatus(cmd.Context(), args[0], wait)
		},
	}
	a.dlqFlags.registerDLQ(cmd)
	cmd.Flags().BoolVar(&wait, "wait", false, "until the consumer has finished every dead letter of the replay")
	cmd.Flags().BoolVarP(&watch.on, "watch", "w", false, "repeat for all replays until interrupted")
	cmd.Flags().DurationVar(&watch.every, "every", 2*time.Second, "how often, with --watch")
	return cmd
}

func (a *app) runStatus(ctx context.Context, replayID string, wait bool) error {
	s, err := a.service(ctx)
	if err != nil {
		return err
	}
	look := s.Status
	if wait {
		bar := a.bar()
		defer bar.clear()
		look = func(ctx context.Context, id string) (states.Report, error) {
			status, err := s.Await(ctx, id, func(now states.Report) {
				bar.show(replay.Progress{Phase: replay.Waiting, Sent: now.Attempted, Outcome: now.Counts})
			})
			bar.clear()
			return status, err
		}
	}
	status, err := look(ctx, replayID)
	if err != nil {
		return err
	}
	if err := a.writeStatus(status); err != nil {
		return err
	}
	if j := status.Job; j != nil && j.Stopped() {
		fmt.Fprint(a.env.Err, stoppedText(*j))
	}
	a.runningMappings(ctx, s)
	if status.Unheard > 0 {
		fmt.Fprintf(a.env.Err, "Nobody reports what became of %s. Look in the other software; then, for one that succeeded, and for one that has to go back:\n"+
			"  replayer list %[2]s --status replaying\n  replayer discard %[2]s --id ID --execute --reason 'why'\n  replayer reopen %[2]s --id ID --execute --reason 'why'\n",
			cli.Count(status.Unheard, "dead letter"), a.dlqText())
	}
	if status.FailedAgain > 0 {
		return exit(cli.ExitPartly, nil)
	}
	return nil
}

func (a *app) writeStatus(status states.Report) error {
	var b figures
	if status.Job != nil {
		b.WriteString(jobStatus(status.Job))
	}
	if status.Last.IsZero() { // a change, or a replay that has replayed nothing yet
		return a.answer(status, b.String())
	}
	b.line("replay", "%s", status.ReplayID)
	b.line("attempted", "%d", status.Attempted)
	if a.alone() {
		b.elsewhere(&status)
	} else {
		b.outcome(&status.Counts)
	}
	if status.Duplicates > 0 {
		b.line("duplicates", "%d", status.Duplicates)
	}
	if status.Elsewhere > 0 && !a.alone() {
		b.line("sent elsewhere", "%d, to another topic: their outcomes are not reported here", status.Elsewhere)
	}
	if status.Unheard > 0 {
		b.line("not heard of", "%d since %s: other software has them and does not report successes", status.Unheard, dlq.TimeText(status.UnheardSince))
	}
	if status.Ended > 0 {
		b.line("ended", "%d of other software, by an operator", status.Ended)
	}
	b.line("last change", "%s", dlq.TimeText(status.Last))
	return a.answer(status, b.String())
}

// elsewhere adds the known state of dead letters that were replayed into topics of other software.
func (f *figures) elsewhere(status *states.Report) {
	rest, waiting := status.Elsewhere-status.Consumed, 0
	if status.Job != nil && status.Job.Watched.Group != "" {
		w := status.Job.Watched
		waiting = min(w.Waiting, rest)
		f.line("consumed", "%d: group %s committed beyond them, and they did not die again within the grace", status.Consumed, cli.CleanText(w.Group, cli.OneLine))
		f.line("waiting", "%d for that group", waiting)
		f.line("through", "%s", cli.CleanText(w.Through, cli.OneLine))
	}
	f.line("died again", "%d", status.FailedAgain)
	if status.Escalated > 0 {
		f.line("escalated", "%d of them", status.Escalated)
	}
	if rest > waiting {
		f.line("put back", "%d; other software does not report their outcomes here", rest-waiting)
	}
}

// watching holds the flags of a view that is redrawn periodically.
type watching struct {
	on    bool
	every time.Duration
}

func (a *app) runOverview(ctx context.Context, w watching) error {
	s, err := a.service(ctx)
	if err != nil {
		return err
	}
	overview := s.Overview()
	if w.on {
		size := cli.TerminalSize(a.env.Out)
		return cli.Watch(ctx, w.every, overview.Look, func(look replay.Look, trouble error) error { return a.showOverview(look, trouble, size) })
	}
	look, err := overview.Look(ctx)
	if err != nil {
		return err
	}
	if err := a.writeOverview(look); err != nil {
		return err
	}
	if foreign := overview.Foreign(); foreign.Outcomes > 0 {
		fmt.Fprintf(a.env.Err, "warning: %s not counted, because the dead letter was not in that replay (a copy of a replay record in the source topic?); the first: %s\n",
			cli.Count(foreign.Outcomes, "outcome"), foreign.First)
	}
	return nil
}

// showOverview draws an overview on a terminal, or prints it. trouble is the reason why the overview is not up to date.
func (a *app) showOverview(look replay.Look, trouble error, size func() (width, height int, terminal bool)) error {
	width, height, terminal := size()
	switch {
	case terminal && a.output == "table":
		return cli.RedrawScreen(a.env.Out, overviewScreen(a.env, look, trouble, width, height))
	case trouble != nil:
		_, err := fmt.Fprintln(a.env.Err, "replayer: not updated: "+cli.CleanText(trouble.Error(), cli.OneLine))
		return err
	}
	return a.writeOverview(look)
}

func (a *app) writeOverview(look replay.Look) error {
	look.Replays = append([]states.Underway{}, look.Replays...) // an empty list in JSON instead of null
	return a.answer(look, overviewText(a.env, look))
}

// overviewScreen returns the lines of an overview that fit the terminal (see [cli.FitScreen]).
func overviewScreen(env Env, look replay.Look, trouble error, width, height int) []string {
	env.Width, env.Color = width, false // a cut line could end in the middle of a colour
	head := look.At.UTC().Format("2006-01-02 15:04:05") + " UTC\n" + cli.StaleLine(look.At, env.Now(), trouble)
	return cli.FitScreen(head+overviewText(env, look), width, height)
}

// overviewText returns the text of an overview.
func overviewText(env Env, look replay.Look) string {
	var b strings.Builder
	for _, obstacle := range look.Obstacles {
		fmt.Fprintln(&b, env.screen().Wrap("Note: "+cli.CleanText(obstacle.Text, cli.OneLine), "      "))
	}
	if look.AtWork != "" {
		fmt.Fprintln(&b, "at work: "+cli.CleanText(look.AtWork, cli.OneLine))
	}
	b.WriteString(jobsText(env, look.Jobs))
	if len(look.Replays) == 0 {
		fmt.Fprintf(&b, "no replay is in progress; %s\n", cli.Count(look.Finished, "replay")+" finished")
		return b.String()
	}
	t := cli.Table{Columns: []cli.Column{
		{Title: "IN PROGRESS", Right: true}, {Title: "REPROCESSED", Right: true}, {Title: "FAILED", Right: true}, {Title: "CLOSED", Right: true}, {Title: "LEFT", Right: true}, {Title: "REPLAY", Below: true},
	}}
	for _, r := range look.Replays {
		t.Add(strconv.Itoa(r.UnderWay), strconv.Itoa(r.Reprocessed), strconv.Itoa(r.FailedAgain), strconv.Itoa(r.Closed), leftText(r), r.ReplayID)
		if r.Theirs > 0 {
			t.Note(fmt.Sprintf("%s: other software has them and does not report successes", cli.Count(r.Theirs, "dead letter")))
		}
	}
	return b.String() + t.Text(env.screen())
}

// leftText returns the remaining time of a replay, or "?" before its first dead letter is finished.
func leftText(r states.Underway) string {
	switch {
	case r.Rate == nil:
		return "-"
	case r.Left == nil:
		return "?"
	}
	return time.Duration(*r.Left * float64(time.Second)).Round(time.Second).String()
}
