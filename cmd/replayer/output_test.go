package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/dlq"
	"github.com/switchback-geo/switchback/internal/replay"
	"github.com/switchback-geo/switchback/internal/replay/plan"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

func TestOutput_golden(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		code cli.Exit
		args []string
	}{
		{"list-ndjson", cli.ExitDone, []string{"list"}},
		{"list-ndjson-details", cli.ExitDone, []string{"list", "--details"}},
		{"list-json-no-values", cli.ExitDone, []string{"list", "-o", "json", "--no-values", "--limit", "2"}},
		{"list-nothing-json", cli.ExitNothing, []string{"list", "-o", "json", "--code", "timeout"}},
		{"groups-ndjson", cli.ExitDone, []string{"groups"}},
		{"export-ndjson", cli.ExitDone, []string{"export"}},
		{"export-geojson", cli.ExitDone, []string{"export", "--format", "geojson"}},
		{"export-csv", cli.ExitDone, []string{"export", "--format", "csv"}},
		{"stats-json", cli.ExitDone, []string{"stats", "-o", "json"}},
		{"show-json", cli.ExitDone, []string{"show", "0-43-dddddddd", "-o", "json"}},
		{"dry-run-ndjson", cli.ExitRefused, []string{"replay"}},
		{"dry-run-json", cli.ExitRefused, []string{"replay", "-o", "json", "--id", "0-40-aaaaaaaa", "--replay-id", "r1"}},
		{"execute-ndjson", cli.ExitDone, []string{"replay", "--including-failing", "--execute", "--reason", "fixed", "--replay-id", "r1", "--code", "geometry_invalid"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(t, false)
			d.fill()
			d.want(c.code, append(c.args, "-c", "pipeline.yaml", "--actor", "ana")...)
			d.golden(c.name)
		})
	}
}

func TestOutput_text_of_records_cannot_steer_a_terminal(t *testing.T) {
	d := newDesk(t, true)
	evil := letter(0, "0-1-eeeeeeee", "{\"a\":\"\x1b[2J\u009b\U000e0001\"}", "\x1b]0;owned\x07 \u202e")
	evil.Headers = append(evil.Headers, kgo.RecordHeader{Key: "x\x1b[31m", Value: []byte("\x1b[2J")})
	named := letter(1, "1-1-\x1b[2J$(reboot)\u202e", "{}", "of a producer's choice")
	named.Timestamp = start // the last one: the example of its group
	d.put(evil, named)
	for _, args := range [][]string{{"list"}, {"groups"}, {"show", "0-1-eeeeeeee"}, {"stats"}, {"export"}, {"export", "--format", "csv"}, {"replay"}} {
		for _, output := range formats() {
			d.want(cli.ExitDone, append(args, "-c", "pipeline.yaml", "-o", output)...)
			printed := d.out.String() + d.err.String()
			expect.That(t, !strings.ContainsAny(printed, "\x1b\x07\u202e\u009b"), "%v -o %s lets control characters through: %q", args, output, printed)
		}
	}
	d.want(cli.ExitDone, "list", "-c", "pipeline.yaml", "-o", "ndjson", "--id", "0-1-eeeeeeee")
	var back dlq.LetterJSON
	must.Do(t, json.Unmarshal(d.out.Bytes(), &back))
	expect.Equal(t, *back.Value, string(evil.Value), "the escaped value")
}

// S4-12: what a table has no room for on a terminal of 80 columns stands below its rows.
func TestOutput_S4_12_tablesFitAScreen(t *testing.T) {
	d := newDesk(t, true).fill()
	d.put(letter(0, "0-1048576-0123abcd", "v", strings.Repeat("é long ", 100)))
	for _, width := range []int{80, 130} {
		d.env.Width = width
		for _, args := range [][]string{
			{"list"}, {"groups"}, {"stats"}, {"replay"}, {"discard", "--code", "geometry_invalid", "--execute", "--reason", strings.Repeat("no way ", 20)},
			{"list"}, {"audit"}, {"audit", "--operations"}, {"replay", "--all", "--including-failing", "--execute", "--reason", "try"}, {"replays"}, {"audit"},
		} {
			d.run(append(args, "-c", "pipeline.yaml", "-o", "table")...)
			expect.That(t, d.out.Len() != 0, "%v printed nothing: %s", args, &d.err)
			d.fits(width)
			expect.That(t, args[0] != "list" || strings.Contains(d.out.String(), "…"), "nothing shows that the message was cut")
		}
		d.run("reopen", "-c", "pipeline.yaml", "--all", "--execute", "--reason", "again")
	}
}

// What was asked and answered when a letter died is structured data in everything that shows a whole letter, and not only a
// part of its message.
func TestOutput_S2_5_request_and_response(t *testing.T) {
	d := newDesk(t, false)
	c := controlOf(0, "0-40-aaaaaaaa", "enrich step place: GET https://h/place: 503")
	c.ErrorRequest = &classify.Request{Step: "place", Provider: "main", Method: "GET", URL: "https://h/place", TookMS: 31}
	c.ErrorResponse = &classify.Response{Status: 503, RetryAfter: "30", RequestID: "7f3a", ContentType: "text/html", Body: "<p>down"}
	value := fmt.Sprintf(square, "a")
	c.ContentHash = idempotency.Of([]byte(value)).String()
	d.put(&kgo.Record{Topic: "features.dlq", Key: []byte("a"), Value: []byte(value), Timestamp: start, Headers: c.AppendTo(nil)})
	const (
		request  = `"request":{"step":"place","provider":"main","method":"GET","url":"https://h/place","took_ms":31}`
		response = `"response":{"status":503,"retry_after":"30","request_id":"7f3a","content_type":"text/html","body":"<p>down"}`
	)
	both := []string{request, response}
	for _, c := range []struct {
		args []string
		says []string
	}{
		{[]string{"show", "0-40-aaaaaaaa", "-o", "ndjson"}, both},
		{[]string{"show", "0-40-aaaaaaaa", "-o", "json"}, both},
		{[]string{"list", "--details"}, both},
		{[]string{"list", "--details", "--no-values"}, both}, // from the index alone
		{[]string{"export"}, both},
		{[]string{"export", "--format", "geojson"}, both},
		{[]string{"export", "--format", "csv"}, []string{`,"{""step"":""place"",`, `,"{""status"":503,`}},
		{[]string{"show", "0-40-aaaaaaaa", "-o", "table"}, []string{
			"  asked          GET https://h/place (step place, provider main, 31 ms)\n",
			"  answer         HTTP 503, retry after 30, request id 7f3a, text/html: <p>down\n",
		}},
	} {
		d.want(cli.ExitDone, append(c.args, "-c", "pipeline.yaml")...)
		got := d.out.String()
		if slices.Contains(c.args, "json") || slices.Contains(c.args, "geojson") {
			var tight bytes.Buffer
			must.Do(t, json.Compact(&tight, d.out.Bytes()))
			got = strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(tight.String())
		}
		for _, text := range c.says {
			expect.That(t, strings.Contains(got, text), "%v does not say %s:\n%s", c.args, text, got)
		}
	}
}

// A share is a lower bound, since offsets count transaction markers too, and says so.
func TestShareText_S4_6_isALowerBound(t *testing.T) {
	for share, want := range map[float64]string{-1: "-", 0: "≥0.00 %", 0.00001: ">0 %", 0.0268: "≥2.68 %", 1: "≥100.00 %"} {
		expect.Equal(t, shareText(share), want, share)
	}
}

func FuzzSpread(f *testing.F) {
	f.Add(`{"a":{"b":[1,{"c":"}"}]},"d":{}}`)
	f.Add(`"\""`)
	f.Add(`[]`)
	f.Fuzz(func(t *testing.T, text string) {
		var compact, back bytes.Buffer
		if json.Compact(&compact, []byte(text)) != nil {
			return
		}
		err := json.Compact(&back, []byte(cli.IndentJSON(compact.String())))
		must.That(t, err == nil && back.String() == compact.String(), "%s becomes %s (%v)", &compact, &back, err)
	})
}

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
	text := overviewText(Env{Width: 200}, replay.Look{Finished: 1, Jobs: jobs})
	for _, want := range []string{
		"STOPPED  r1: 495 of 500 dead letters were not reached; 5 of 5 failed", "by ana", "\n  replayer replay -c p.yaml --plan plan.jsonl --execute --reason 'it is fixed'\n",
		"STOPPED  d2: 1 of 7 dead letters were not reached; killed", "continue with: replayer discard and its filter",
		"replay r3 is paused: 4 of 12 dead letters put back, 1 left as they are, 7 not reached, wave 2; paused by bo\n",
		"and 3 jobs before", "no replay is in progress; 1 replay finished",
	} {
		expect.That(t, strings.Contains(text, want), "no %q in\n%s", want, text)
	}
	expect.That(t, !strings.Contains(text, "\x1b") && !strings.Contains(text, "old-7"), "%q", text)
}

func TestStats_S4_7_aWarningEndsWith4(t *testing.T) {
	d := newDesk(t, false).fill()
	keep := []string{"stats", "-c", "pipeline.yaml", "--fail-on-warning"}
	must.Get(kadm.NewClient(d.writer).AlterTopicConfigs(t.Context(), []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "retention.ms", Value: new("-1")}}, "features.dlq"))(t)
	d.want(cli.ExitDone, keep...)
	for i := range dlq.ManyPerDay {
		d.put(letter(int32(i%2), fmt.Sprint("more-", i), "{}", "ring 1 crosses itself"))
	}
	const says = "dead letters of pipeline features died today and are pending; more than 100 a day are too many"
	d.want(cli.ExitPartly, keep...).says(says).prints(says)
	d.want(cli.ExitDone, "stats", "-c", "pipeline.yaml", "-o", "table").prints("warning")
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
		d.want(cli.ExitDone, "stats", "-c", "pipeline.yaml").prints(`"oldest_pending":{"id":"0-40-aaaaaaaa","died_at":"2026-11-03T04:04:36.000Z","first_died_at":"2026-11-01T04:05:06.000Z","age_seconds":172800,`)
		d.want(cli.ExitDone, "stats", "-c", "pipeline.yaml", "-o", "table").prints("0-40-aaaaaaaa, died 2026-11-01T04:05:06.000Z (2d0h ago), again at 2026-11-03T04:04:36.000Z")
		d.want(cli.ExitDone, "index", "-c", "pipeline.yaml", "--check")
	}
}

const levelled = `{"type":"Feature","id":"%s","geometry":{"type":"Point","coordinates":[1,2]},"properties":{"id":"%s","level":%s}}`

// refusedLevels fills the DLQ with features that died of these levels.
func (d *desk) refusedLevels(levels ...string) {
	d.t.Helper()
	text := must.Get(os.ReadFile(d.file("pipeline.yaml")))(d.t)
	text = append(text, "transform: { unmapped: drop, fields: [{ from: id, to: id, type: string }, { from: level, to: level, type: integer }] }\n"...)
	d.write("pipeline.yaml", text)
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
	d.want(cli.ExitDone, "groups", "-c", "pipeline.yaml", "--values", "-o", "table").prints(`3 × "12 m" at /properties/level`, `1 × "12 ha" at /properties/level`, "1 other value, once", "of the oldest 9 dead letters; today's transform passes 1 of them")
	d.fits(80)
	d.want(cli.ExitDone, "groups", "-c", "pipeline.yaml", "--values", "-o", "ndjson")
	var g dlq.GroupJSON
	d.decode(&g)
	expect.That(t, g.Values != nil && g.Values.Read == 9 && g.Values.Failing == 8 && g.Values.Refused == 8 && g.Values.Others == 0 && len(g.Values.Most) == 6 && g.Values.Most[0] == (dlq.Value{Path: "/properties/level", Text: `"12 m"`, Letters: 3}),
		"values %+v", g.Values)
	d.want(cli.ExitDone, "groups", "-c", "pipeline.yaml", "-o", "ndjson").hides("12 m") // a payload
	cut := letter(1, "1-9-aaaaaaaa", `{"type":"Feature"`, "the JSON text ends too early")
	d.put(cut)
	d.want(cli.ExitDone, "groups", "-c", "pipeline.yaml", "--values", "-o", "table").prints("passes 1 of them", "today's transform refuses 1 of the oldest 1, but not for one value")
	d.want(cli.ExitUsage, append(append([]string{}, d.alone()...), "groups", "--topic", "features.dlq", "--values")...)
}

// A note on a group is shown with its writer, as text, to pipelines and to others once they have topics of their own.
func TestNote_S4_6_isShownWithItsGroup(t *testing.T) {
	d := newDesk(t, true).fill()
	d.want(cli.ExitDone, "groups", "-c", "pipeline.yaml", "-o", "ndjson")
	var g dlq.GroupJSON
	must.Do(t, json.NewDecoder(&d.out).Decode(&g))
	d.want(cli.ExitUsage, "note", "-c", "pipeline.yaml", g.ID)
	d.want(cli.ExitNothing, "note", "-c", "pipeline.yaml", "none", "text")
	d.want(cli.ExitDone, "note", "-c", "pipeline.yaml", "--actor", "ana", g.ID, "waits\x1b[2J for a survey").says("noted on group " + g.ID)
	d.want(cli.ExitDone, "groups", "-c", "pipeline.yaml", "-o", "table").prints("note by ana, ", "for a survey").hides("\x1b[2J")
	d.want(cli.ExitDone, "audit", "-c", "pipeline.yaml", "-o", "ndjson").prints("note on group " + g.ID)
	d.want(cli.ExitDone, "note", "-c", "pipeline.yaml", "--remove", g.ID)
	d.want(cli.ExitDone, "groups", "-c", "pipeline.yaml", "-o", "table").hides("note by")
	alone := append(append([]string{}, d.alone()...), "note", "--topic", "features.dlq")
	d.want(cli.ExitUsage, append(alone, g.ID, "text")...).says("the first change of a dead letter creates it")
}

// What cannot be shown by cause, or was not judged, is not called better than it is.
func TestOutlook_S4_8_ofWhatHasNoCode(t *testing.T) {
	t.Parallel()
	more := plan.Outcome{Action: plan.Reinject, Message: "(more causes than can be shown)", Count: 7}
	expect.Equal(t, actionOf(&plan.Plan{}, more, false), plan.Leave, "of failing ones")
	expect.Equal(t, actionOf(&plan.Plan{}, more, true), plan.Reinject, "of failing ones that go back")
	expect.Equal(t, today(more), "fails")
	more.Passes = true
	expect.Equal(t, actionOf(&plan.Plan{}, more, false), plan.Reinject, "of passing ones")
	expect.That(t, !strings.Contains(strings.Join(valueNotes(&dlq.Values{}), ""), "passes"), "nothing that was read passes: %v", valueNotes(&dlq.Values{}))
}
