package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/dlq"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

func TestStats_S4_7_aWarningEndsWith4(t *testing.T) {
	d := newDesk(t, false).fill()
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

const levelled = `{"type":"Feature","id":"%s","geometry":{"type":"Point","coordinates":[1,2]},"properties":{"id":"%s","level":%s}}`

// refusedLevels fills the DLQ with features that died of these levels.
func (d *desk) refusedLevels(levels ...string) {
	d.t.Helper()
	text := must.Get(os.ReadFile("pipeline.yaml"))(d.t)
	text = append(text, "transform: { unmapped: drop, fields: [{ from: id, to: id, type: string }, { from: level, to: level, type: integer }] }\n"...)
	must.Do(d.t, os.WriteFile("pipeline.yaml", text, 0o600))
	var records []*kgo.Record
	for i, level := range levels {
		id := fmt.Sprintf("0-%d-aaaaaaaa", i)
		r := letter(0, id, fmt.Sprintf(levelled, id, id, level), "the string cannot become a field of type integer at /properties/level")
		for n, h := range r.Headers {
			if h.Key == header.KeyErrorCode {
				r.Headers[n].Value = []byte("coercion_failed")
			}
		}
		records = append(records, r)
	}
	d.put(records...)
}

// S4-6: the values that a mapping refuses, with how often they occur, come from today's transform, so from any format and for all that it
// judges. What passes by now has none.
func TestGroups_S4_6_countsTheValuesThatAreRefused(t *testing.T) {
	d := newDesk(t, true)
	d.env.Width = 80
	d.refusedLevels(`"12 m"`, `"12 ha"`, `"12 m"`, `"12 m"`, `3`, `"\u001b[31mred"`, `"a"`, `"b"`, `"c"`)
	d.want(cli.ExitDone, "groups", "-c", "pipeline.yaml", "--values", "-o", "table")
	d.prints(`3 × "12 m" at /properties/level`, `1 × "12 ha" at /properties/level`, "1 other value, once", "of the oldest 9 dead letters")
	for line := range strings.Lines(d.out.String()) {
		n := len([]rune(strings.TrimSuffix(line, "\n")))
		expect.That(t, n <= 80 && !strings.Contains(line, "\x1b"), "%d characters, or an escape: %q", n, line)
	}

	d.want(cli.ExitDone, "groups", "-c", "pipeline.yaml", "--values", "-o", "ndjson")
	var g dlq.GroupJSON
	d.decode(&g)
	expect.That(t, g.Values != nil && g.Values.Read == 9 && g.Values.Refused == 8 && g.Values.Others == 0 && len(g.Values.Most) == 6 && g.Values.Most[0] == (dlq.ValueJSON{Path: "/properties/level", Value: `"12 m"`, Count: 3}),
		"values %+v", g.Values)
	d.want(cli.ExitDone, "groups", "-c", "pipeline.yaml", "-o", "ndjson")
	expect.That(t, !strings.Contains(d.out.String(), "12 m"), "payload without --values: %s", &d.out)
	d.want(cli.ExitUsage, append(append([]string{}, d.alone()...), "groups", "--topic", "features.dlq", "--values")...)
}
