package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/dlq"
)

// jobsShown is how many jobs a table has; json has all that are kept.
const jobsShown = 10

// jobLine says how a job stands: "replay r1 is paused: 4000 of 12000 dead letters put back, 3 left, wave 2; paused by bo".
func jobLine(j control.Job) string {
	done := "changed"
	if j.IsReplay() {
		done = "put back"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s is %s: %d of %s %s", j.Kind, j.ID, j.State, j.Done, count(j.Letters, "dead letter"), done)
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

// groupText says what a replay has seen of the group that it watches.
func groupText(w control.JobWatch) string {
	return fmt.Sprintf("group %s: %d consumed, %d waiting", w.Group, w.Consumed, w.Waiting)
}

// stoppedText says of a job that it ended before its end, what was not reached, and which command goes on.
func stoppedText(j control.Job) string {
	why := fmt.Sprintf("%s: %d of %d dead letters were not reached; %s", j.ID, j.NotReached, j.Letters, j.Why)
	text := fmt.Sprintf("STOPPED  %s\n         since %s, by %s\n", cli.CleanText(why, cli.OneLine), dlq.TimeText(j.Heard), cli.CleanText(j.By, cli.OneLine))
	switch {
	case j.Command != "":
		return text + "         go on with:\n  " + cli.CleanText(j.Command, cli.OneLine) + "\n"
	case j.IsReplay():
		return text + "         go on with: replayer replay --plan and the plan's file\n"
	}
	return text + fmt.Sprintf("         go on with: replayer %s and its filter\n", j.Kind)
}

// writeJobs writes what is at work, what stopped, and the latest jobs of all kinds.
func writeJobs(w io.Writer, env Env, jobs []control.Job) error {
	for _, j := range jobs {
		switch {
		case !j.State.Ended():
			fmt.Fprintln(w, jobLine(j))
		case j.Stopped():
			fmt.Fprint(w, stoppedText(j))
		}
	}
	t := table{columns: []column{
		{title: "STATE"}, {title: "KIND"}, {title: "DONE", right: true}, {title: "LEFT", right: true}, {title: "NOT REACHED", right: true}, {title: "FAILED AGAIN", right: true}, {title: "BEGAN"}, {title: "BY"}, {title: "JOB", below: true},
	}}
	for _, j := range jobs[:min(len(jobs), jobsShown)] {
		t.add(string(j.State), string(j.Kind), strconv.Itoa(j.Done), strconv.Itoa(j.Left), strconv.Itoa(j.NotReached), strconv.Itoa(j.FailedAgain), j.Began.UTC().Format(seenAt), orDash(j.By), j.ID)
		if j.Watched.Group != "" {
			t.note(groupText(j.Watched))
		}
	}
	if len(jobs) == 0 {
		return nil
	}
	if err := t.write(w, env); err != nil {
		return err
	}
	if more := len(jobs) - jobsShown; more > 0 {
		fmt.Fprintf(w, "and %s before; -o json has them\n", count(more, "job"))
	}
	return nil
}

// jobStatus writes one job for people.
func jobStatus(j *control.Job) string {
	var b strings.Builder
	fmt.Fprintln(&b, jobLine(*j))
	fmt.Fprintf(&b, "%-14s %s, by %s: %s\n", "began", dlq.TimeText(j.Began), cli.CleanText(j.By, cli.OneLine), cli.CleanText(j.Reason, cli.OneLine))
	fmt.Fprintf(&b, "%-14s %s\n", "last heard of", dlq.TimeText(j.Heard))
	return b.String()
}
