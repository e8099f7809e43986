package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/replay"
	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// status is what `replayer replays ID` says of a job.
func (d *desk) status(id string) replay.Report {
	d.t.Helper()
	d.want(cli.ExitDone, "replays", "-c", "pipeline.yaml", "-o", "json", id)
	var r replay.Report
	err := json.Unmarshal(d.out.Bytes(), &r)
	must.That(d.t, err == nil && r.Job != nil, "%v: %s", err, &d.out)
	return r
}

// A second operator pauses, resumes and cancels a replay. The listing then shows how many dead letters were not sent, and the command it
// names sends them.
func TestJob_S4_6_isPausedResumedAndCancelled(t *testing.T) {
	d := newDesk(t, false)
	for i := range 4 {
		id := fmt.Sprintf("0-%d-aaaaaaaa", 40+i)
		d.put(letter(0, id, fmt.Sprintf(square, id), "ring 3 crosses itself"))
	}
	first := &desk{t: t, env: d.env}
	first.env.Out, first.env.Err = &first.out, &first.err
	ended := make(chan cli.Exit, 1)
	go func() {
		ended <- Run(t.Context(), first.env, []string{"replay", "-c", "pipeline.yaml", "--all", "--replay-id", "fix", "--canary", "1", "--execute", "--reason", "mapped"})
	}()
	eventually.Until(t.Context(), t, "the canary is sent", func() (bool, string) {
		if d.run("replays", "-c", "pipeline.yaml", "-o", "json", "fix") != cli.ExitDone {
			return false, d.err.String()
		}
		return d.status("fix").Attempted == 1, d.out.String()
	})
	var paused control.Job
	d.want(cli.ExitDone, "pause", "-c", "pipeline.yaml", "-o", "json", "fix")
	err := json.Unmarshal(d.out.Bytes(), &paused)
	expect.That(t, err == nil && paused.State == control.JobPausing, "%v: %s", err, &d.out)
	eventually.Until(t.Context(), t, "it pauses", func() (bool, string) {
		j := d.status("fix").Job
		return j.State == control.JobPaused, fmt.Sprintf("%+v", j)
	})
	d.want(cli.ExitDone, "resume", "-c", "pipeline.yaml", "-o", "table", "fix")
	d.prints("replay fix is running: 1 of 4 dead letters put back, 3 not reached")
	d.want(cli.ExitDone, "cancel", "-c", "pipeline.yaml", "--actor", "bo", "fix")
	code := <-ended
	expect.That(t, code == cli.ExitStopped && strings.Contains(first.err.String(), "STOPPED: bo cancelled it; 3 of 4 dead letters were not reached"), "exit %d: %s", code, &first.err)
	expect.That(t, bytes.Contains(first.err.Bytes(), []byte("To go on with what is left:\n  replayer replay")), "%s", &first.err)
	r := d.status("fix")
	expect.That(t, r.Job.State == control.JobCancelled && r.Job.NotReached == 3 && r.UnderWay == 1, "%+v, %+v", r.Job, r)
	d.want(cli.ExitNothing, "pause", "-c", "pipeline.yaml", "nobody's")
	d.want(cli.ExitUsage, "pause", "-c", "pipeline.yaml")
	d.consume(func(string) bool { return true })
	d.want(cli.ExitNothing, "resume", "-c", "pipeline.yaml", "fix") // nothing waits
	d.says("fix is cancelled", "go on with")
	d.follow(cli.ExitDone)
	r = d.status("fix")
	expect.That(t, r.Job.State == control.JobDone && r.Job.Done == 3, "%+v", r.Job)
}
