package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/dlq"
	"github.com/switchback-geo/switchback/internal/replay/jobs"
)

// jobOrders returns the commands that pause, continue or cancel a job. They need no --execute, because they stop work
// or continue work that was started with it.
func (a *app) jobOrders() []*cobra.Command {
	var out []*cobra.Command
	for _, c := range []struct {
		name, short, long string
		order             control.JobVerb
	}{
		{"pause", "Pause a running job",
			`Pause a running replay or change after its current transaction. Its process waits, and no other replayer changes
dead letters meanwhile, until replayer resume or replayer cancel.`, control.PauseJob},
		{"resume", "Continue a paused job",
			`Continue a replay or change that replayer pause has paused. If its process has ended, the command that continues it
is printed.`, control.ResumeJob},
		{"cancel", "Cancel a running job",
			`End a running or paused replay or change after its current transaction. What it committed stays. Its process reports what it did
not reach and ends with exit code 6; replayer replays shows the command that continues it.`, control.CancelJob},
	} {
		cmd := &cobra.Command{
			Use: c.name + " JOB", Short: c.short,
			Long: c.long + "\n\nIt takes effect at once, without --execute, from any machine. replayer replays lists the jobs.",
			Args: oneArgument(c.name + " takes the id of one job (replayer replays lists them)"),
			RunE: func(cmd *cobra.Command, args []string) error { return a.runJobOrder(cmd.Context(), c.order, args[0]) },
		}
		a.dlqFlags.registerDLQ(cmd)
		out = append(out, cmd)
	}
	return out
}

func (a *app) runJobOrder(ctx context.Context, order control.JobVerb, id string) error {
	s, err := a.service(ctx)
	if err != nil {
		return err
	}
	j, err := s.OrderJob(ctx, id, a.by, order)
	if refused, is := errors.AsType[*jobs.OrderError](err); is {
		if refused.Job.NotReached > 0 {
			fmt.Fprint(a.env.Err, stoppedText(refused.Job))
		}
		return exit(cli.ExitNothing, err)
	}
	if err != nil {
		return err
	}
	return a.answer(j, jobLine(j)+"\n")
}

// printContinueCommand prints the command that continues a change after an operator cancelled it or another replayer
// ended it.
func (a *app) printContinueCommand(err error, command string) {
	if isCancelled(err) || errors.Is(err, jobs.ErrFenced) {
		fmt.Fprintf(a.env.Err, "To continue with the rest%s:\n  %s\n", counting(command), command)
	}
}

// counting explains why a printed command is a dry run: the operator must name the number of remaining dead letters,
// which is unknown.
func counting(command string) string {
	if strings.Contains(command, " --execute") {
		return ""
	}
	return " (a dry run that counts them, and prints the command)"
}

// jobsShown is the number of jobs in a table. The JSON has all stored jobs.
const jobsShown = 10

// jobLine returns the state of a job: "replay r1 is paused: 4000 of 12000 dead letters put back, 3 left, wave 2; paused
// by bo".
func jobLine(j control.Job) string {
	done := "changed"
	if j.IsReplay() {
		done = "put back"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s is %s: %d of %s %s", j.Kind, j.ID, j.State, j.Done, cli.Count(j.Letters, "dead letter"), done)
	for _, part := range []struct {
		n    int
		text string
	}{{j.Duplicates, "%d closed as duplicates"}, {j.Left, "%d left as they are"}, {j.NotReached, "%d not reached"}, {j.FailedAgain, "%d failed again"}, {j.Wave, "wave %d"}} {
		if part.n > 0 {
			fmt.Fprintf(&b, ", "+part.text, part.n)
		}
	}
	if j.Watched.Group != "" {
		b.WriteString("; " + groupText(j.Watched))
	}
	if j.Why != "" {
		b.WriteString("; " + j.Why)
	}
	return cli.CleanText(b.String(), cli.OneLine)
}

// groupText describes the progress of the consumer group that a replay watches.
func groupText(w control.JobWatch) string {
	return fmt.Sprintf("group %s: %d consumed, %d waiting", w.Group, w.Consumed, w.Waiting)
}

// stoppedText describes a stopped job: how many dead letters it did not reach, and the command that continues it.
func stoppedText(j control.Job) string {
	why := fmt.Sprintf("%s: %d of %d dead letters were not reached; %s", j.ID, j.NotReached, j.Letters, j.Why)
	text := fmt.Sprintf("STOPPED  %s\n         since %s, by %s\n", cli.CleanText(why, cli.OneLine), dlq.TimeText(j.Heard), cli.CleanText(j.By, cli.OneLine))
	switch {
	case j.Command != "":
		return text + "         continue with:\n  " + cli.CleanText(j.Command, cli.OneLine) + "\n"
	case j.IsReplay():
		return text + "         continue with: replayer replay --plan and the plan's file\n"
	}
	return text + fmt.Sprintf("         continue with: replayer %s and its filter\n", j.Kind)
}

// jobsText lists the running jobs, the stopped jobs, and the latest jobs of all kinds.
func jobsText(env Env, jobs []control.Job) string {
	var b strings.Builder
	for _, j := range jobs {
		switch {
		case !j.State.Ended():
			fmt.Fprintln(&b, jobLine(j))
		case j.Stopped():
			fmt.Fprint(&b, stoppedText(j))
		}
	}
	t := cli.Table{Columns: []cli.Column{
		{Title: "STATE"}, {Title: "KIND"}, {Title: "DONE", Right: true}, {Title: "LEFT", Right: true}, {Title: "NOT REACHED", Right: true}, {Title: "FAILED AGAIN", Right: true}, {Title: "BEGAN"}, {Title: "BY"}, {Title: "JOB", Below: true},
	}}
	for _, j := range jobs[:min(len(jobs), jobsShown)] {
		t.Add(string(j.State), string(j.Kind), strconv.Itoa(j.Done), strconv.Itoa(j.Left), strconv.Itoa(j.NotReached), strconv.Itoa(j.FailedAgain), j.Began.UTC().Format(seenAt), orDash(j.By), j.ID)
		if j.Watched.Group != "" {
			t.Note(groupText(j.Watched))
		}
	}
	if len(jobs) == 0 {
		return ""
	}
	b.WriteString(t.Text(env.screen()))
	if more := len(jobs) - jobsShown; more > 0 {
		fmt.Fprintf(&b, "and %s before; -o json has them\n", cli.Count(more, "job"))
	}
	return b.String()
}

// jobStatus returns the text about one job.
func jobStatus(j *control.Job) string {
	var b figures
	fmt.Fprintln(&b, jobLine(*j))
	b.line("began", "%s, by %s: %s", dlq.TimeText(j.Began), cli.CleanText(j.By, cli.OneLine), cli.CleanText(j.Reason, cli.OneLine))
	b.line("last heard of", "%s", dlq.TimeText(j.Heard))
	return b.String()
}
