package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/replay"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// What stopped comes first, with the whole command that goes on, whatever is in the texts; then the latest jobs.
func TestStatus_S4_8_saysWhatStopped(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 3, 4, 5, 6, 0, time.UTC)
	jobs := []control.Job{
		{ID: "r1", Kind: control.JobReplay, State: control.JobStopped, By: "ana", Why: "5 of 5 failed\x1b[31m again", Heard: at, Command: "replayer replay -c p.yaml --plan plan.jsonl --execute --reason 'it is fixed'", JobCounts: control.JobCounts{Letters: 500, NotReached: 495}},
		{ID: "d2", Kind: control.JobDiscard, State: control.JobFailed, By: "bo", Why: "killed", Heard: at, JobCounts: control.JobCounts{Letters: 7, NotReached: 1}},
		{ID: "r3", Kind: control.JobReplay, State: control.JobPaused, By: "cy", Why: "paused by bo", JobCounts: control.JobCounts{Letters: 12, Done: 4, Left: 1, NotReached: 7, Wave: 2}},
	}
	for i := range jobsShown {
		jobs = append(jobs, control.Job{ID: fmt.Sprintf("old-%d", i), Kind: control.JobUndo, State: control.JobDone})
	}
	text := must.Get(overviewText(Env{Width: 200}, replay.Look{Finished: 1, Jobs: jobs}))(t)
	for _, want := range []string{
		"STOPPED  r1: 495 of 500 dead letters were not reached; 5 of 5 failed", "by ana", "\n  replayer replay -c p.yaml --plan plan.jsonl --execute --reason 'it is fixed'\n",
		"STOPPED  d2: 1 of 7 dead letters were not reached; killed", "go on with: replayer discard and its filter",
		"replay r3 is paused: 4 of 12 dead letters put back, 1 left as they are, 7 not reached, wave 2; paused by bo\n",
		"and 3 jobs before", "no replay is in progress; 1 replay finished",
	} {
		expect.That(t, strings.Contains(string(text), want), "no %q in\n%s", want, text)
	}
	expect.That(t, !strings.Contains(string(text), "\x1b") && !strings.Contains(string(text), "old-7"), "%q", text)
}
