package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/dlq"
	"github.com/switchback-geo/switchback/internal/replay"
)

func (a *app) replays() *cobra.Command {
	var wait bool
	watch := watching{}
	cmd := &cobra.Command{
		Use:   "replays [ID]",
		Short: "Show jobs and replays: in progress, stopped, ended",
		Long: `Without an id: the jobs of all replayers (replays, discards, edits and so on) with their progress and result, which replays the
consumer has not finished, who changes dead letters at present, and what keeps the consumer from finishing. With --watch, again and
again, with rate and time left; off a terminal one line of JSON each time. The latest 100 jobs are kept, for 30 days.

With the id of a job: how far it is, and the command that goes on when it stopped. Of a replay also how many dead letters it attempted, how many the consumer reprocessed and how many failed
again; of one with --watch-group, how many that group consumed, and through which records. With --wait, until the consumer has finished them all. Dead letters of other software are heard of when they fail
again; those that did not within dead_letters.unheard_after are shown as not heard of.`,
		Args: cobra.MaximumNArgs(1),
		PreRunE: func(_ *cobra.Command, args []string) error {
			switch {
			case wait && a.alone(&a.named):
				return usage("--wait needs a pipeline: other software does not say which dead letters it has processed")
			case wait && len(args) == 0:
				return usage("--wait takes the id of one replay: replayer replays ID --wait; without an id, --watch follows all of them")
			case watch.on && len(args) > 0:
				return usage("--watch follows all replays: leave the id out, or wait for one with --wait")
			}
			return watch.check()
		},
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return a.runOverview(cmd.Context(), watch)
			}
			return a.runStatus(cmd.Context(), args[0], wait)
		},
	}
	a.named.registerDLQ(cmd)
	cmd.Flags().BoolVar(&wait, "wait", false, "until the consumer has finished every dead letter of the replay")
	cmd.Flags().BoolVarP(&watch.on, "watch", "w", false, "follow all replays until you stop it")
	cmd.Flags().DurationVar(&watch.every, "every", 2*time.Second, "how often, with --watch")
	return cmd
}

func (a *app) runStatus(ctx context.Context, replayID string, wait bool) error {
	s, err := a.service(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	look := s.Status
	if wait {
		bar := a.bar()
		defer bar.clear()
		look = func(ctx context.Context, id string) (replay.Report, error) {
			status, err := s.Await(ctx, id, func(now replay.Report) {
				bar.show(replay.Progress{Phase: replay.Waiting, Sent: now.Attempted, Outcome: now.Outcome})
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
		fmt.Fprintf(a.env.Err, "Nobody tells what became of %s. Look there; then, for one that went well, and for one that has to go back:\n"+
			"  replayer list %[2]s --status replaying\n  replayer discard %[2]s --id ID --execute --reason 'why'\n  replayer reopen %[2]s --id ID --execute --reason 'why'\n",
			count(status.Unheard, "dead letter"), a.place())
	}
	if status.FailedAgain > 0 {
		return exit(cli.ExitPartly, nil)
	}
	return nil
}

func (a *app) writeStatus(status replay.Report) error {
	if a.output != "table" {
		return a.object(status)
	}
	var b strings.Builder
	if status.Job != nil {
		b.WriteString(jobStatus(status.Job))
	}
	if status.Last.IsZero() { // of a change, or of a replay that has put nothing back
		_, err := fmt.Fprint(a.env.Out, b.String())
		return err
	}
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-14s "+format+"\n", append([]any{name}, args...)...)
	}
	line("replay", "%s", status.ReplayID)
	line("attempted", "%d", status.Attempted)
	if a.alone(&a.named) {
		aloneLines(line, &status)
	} else {
		outcomeLines(line, &status.Outcome)
	}
	if status.Duplicates > 0 {
		line("duplicates", "%d", status.Duplicates)
	}
	if status.Elsewhere > 0 && !a.alone(&a.named) {
		line("sent elsewhere", "%d, to another topic: nobody here hears what becomes of them", status.Elsewhere)
	}
	if status.Unheard > 0 {
		line("not heard of", "%d since %s: other software has them, and says nothing when it succeeds", status.Unheard, dlq.TimeText(status.UnheardSince))
	}
	if status.Ended > 0 {
		line("ended", "%d of other software, by an operator", status.Ended)
	}
	line("last change", "%s", dlq.TimeText(status.Last))
	_, err := fmt.Fprint(a.env.Out, b.String())
	return err
}

// aloneLines say what is known of letters that went back to topics of other software.
func aloneLines(line func(name, format string, args ...any), status *replay.Report) {
	rest, waiting := status.Elsewhere-status.Consumed, 0
	if status.Job != nil && status.Job.Watched.Group != "" {
		w := status.Job.Watched
		waiting = min(w.Waiting, rest)
		line("consumed", "%d: group %s committed beyond them, and they did not die again within the grace", status.Consumed, cli.CleanText(w.Group, cli.OneLine))
		line("waiting", "%d for that group", waiting)
		line("through", "%s", cli.CleanText(w.Through, cli.OneLine))
	}
	line("died again", "%d", status.FailedAgain)
	if status.Escalated > 0 {
		line("escalated", "%d of them", status.Escalated)
	}
	if rest > waiting {
		line("put back", "%d; what became of them, other software tells nobody here", rest-waiting)
	}
}
