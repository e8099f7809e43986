package main

import (
	"strings"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/replay"
)

// What stopped comes first, with the whole command that goes on, whatever is in the texts.
func TestStatus_S4_8_saysWhatStopped(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 3, 4, 5, 6, 0, time.UTC)
	text, err := overviewText(Env{}, replay.Look{Finished: 1, Stopped: []replay.Stopped{
		{ReplayID: "r1", By: "ana", Letters: 500, NotSent: 495, Why: "5 of 5 failed\x1b[31m again", At: at, Command: "replayer replay -c p.yaml --plan plan.jsonl --execute --reason 'it is fixed'"},
		{ReplayID: "r2", By: "bo", Letters: 7, NotSent: 1, Why: "killed", At: at},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"STOPPED  r1: 495 of 500 dead letters were not sent; 5 of 5 failed", "by ana", "\n  replayer replay -c p.yaml --plan plan.jsonl --execute --reason 'it is fixed'\n",
		"STOPPED  r2: 1 of 7 dead letters were not sent; killed", "no replay is in progress; 1 replay finished",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(string(text), "\x1b") {
		t.Errorf("%q", text)
	}
}
