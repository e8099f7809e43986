package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/dlq"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

func TestStats_S4_7_aWarningEndsWith4(t *testing.T) {
	d := newDesk(t, false)
	d.fill()
	keep := []string{"stats", "-c", "pipeline.yaml", "--fail-on-warning"}
	must.Get(kadm.NewClient(d.writer).AlterTopicConfigs(t.Context(), []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "retention.ms", Value: new("-1")}}, "features.dlq"))(t)
	d.want(cli.ExitDone, keep...)
	for i := range dlq.ManyPerDay {
		d.put(letter(int32(i%2), fmt.Sprint("more-", i), "{}", "ring 1 crosses itself"))
	}
	d.want(cli.ExitPartly, keep...)
	says := "dead letters of pipeline features died today and are pending; more than 100 a day are too many"
	expect.That(t, strings.Contains(d.err.String(), says) && strings.Contains(d.out.String(), says), "stdout %s\nstderr %s", &d.out, &d.err)
	d.want(cli.ExitDone, "stats", "-c", "pipeline.yaml", "-o", "table")
	d.prints("warning")
}

// A replay that failed made the oldest letter 30 seconds old. Its age counts from its first death.
func TestStats_S4_7_a_failed_replay_does_not_make_a_letter_younger(t *testing.T) {
	d := newDesk(t, false)
	died := func(id string, ago time.Duration, replays int) *kgo.Record {
		c := controlOf(0, id, "ring 3 crosses itself")
		c.FailedAt, c.ReplayCount = start.Add(-ago), replays
		if replays > 0 {
			c.ReplayID = "r1"
		}
		return &kgo.Record{Topic: "features.dlq", Key: []byte(id), Value: []byte("{}"), Timestamp: c.FailedAt, Headers: c.AppendTo(nil)}
	}
	d.put(died("0-40-aaaaaaaa", 48*time.Hour, 0), died("0-41-bbbbbbbb", 24*time.Hour, 0))
	d.want(cli.ExitDone, "stats", "-c", "pipeline.yaml")
	d.put(died("0-40-aaaaaaaa", 30*time.Second, 1)) // again, found by the next sync
	for _, rebuild := range []bool{false, true} {
		if rebuild { // and by one that reads both at once
			d.want(cli.ExitDone, "index", "-c", "pipeline.yaml", "--rebuild")
		}
		d.want(cli.ExitDone, "stats", "-c", "pipeline.yaml")
		want := `"oldest_pending":{"id":"0-40-aaaaaaaa","died_at":"2026-11-03T04:04:36.000Z","first_died_at":"2026-11-01T04:05:06.000Z","age_seconds":172800,`
		expect.That(t, strings.Contains(d.out.String(), want), "rebuilt %v: %s\nwant %s", rebuild, &d.out, want)
		d.want(cli.ExitDone, "stats", "-c", "pipeline.yaml", "-o", "table")
		want = "0-40-aaaaaaaa, died 2026-11-01T04:05:06.000Z (2 d 0 h ago), again at 2026-11-03T04:04:36.000Z"
		expect.That(t, strings.Contains(d.out.String(), want), "rebuilt %v: %s\nwant %s", rebuild, &d.out, want)
		d.want(cli.ExitDone, "index", "-c", "pipeline.yaml", "--check")
	}
}
