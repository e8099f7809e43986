package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/dlq"
	"github.com/switchback-geo/switchback/internal/replay"
	"github.com/switchback-geo/switchback/internal/replay/states"
	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/standin"
	"github.com/switchback-geo/switchback/internal/testkit/topiclog"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// The way of a letter through the hands of operators, and its trail.
func TestChange_S4_6_discard_reopen_escalate_and_who_did_it(t *testing.T) {
	d := newDesk(t, false).fill()
	discard := []string{"discard", "-c", "pipeline.yaml", "--id", "0-40-aaaaaaaa,0-43-dddddddd"}
	d.want(cli.ExitRefused, discard...).says("replayer discard -c pipeline.yaml --id 0-40-aaaaaaaa --id 0-43-dddddddd --execute --reason")
	d.want(cli.ExitUsage, append(discard, "--execute")...)
	d.want(cli.ExitNothing, "reopen", "-c", "pipeline.yaml", "--all", "--execute", "--reason", "x")
	d.want(cli.ExitDone, append(discard, "--execute", "--reason", "test data", "--actor", "ana")...)
	d.want(cli.ExitPartly, append(discard, "--execute", "--reason", "again", "--actor", "bo")...).prints(`"changed":0,"left":2`, "by ana")
	d.want(cli.ExitDone, "reopen", "-c", "pipeline.yaml", "--id", "0-40-aaaaaaaa", "--execute", "--reason", "no test data", "-o", "table").prints("changed        1\n")
	d.want(cli.ExitDone, "audit", "-c", "pipeline.yaml", "-o", "table", "--dead-letter", "0-40-aaaaaaaa").counts(2, "state_changed").prints("no test data")
	d.want(cli.ExitDone, "audit", "-c", "pipeline.yaml", "--actor", "ana", "--since", "1d").counts(3, "\n").prints(`"chain":{"of":"operators","seq":1,"prev":"","hash":"sha256:`)
	d.want(cli.ExitNothing, "audit", "-c", "pipeline.yaml", "--actor", "nobody")
}

// The dry run asks the index, the change goes by the topics: both choose the same letters.
func TestChange_S4_6_the_dry_run_counts_what_is_changed(t *testing.T) {
	d := newDesk(t, false).fill()
	for flags, want := range map[string]int{
		"--all": 5, "--limit 2": 2, "--code geometry_invalid": 4, "--code geometry_invalid --limit 3": 3, "--text Größe": 2, "--text ring": 4,
		"--header traceparent=00-1": 4, "--bbox 1,1,3,3 --feature P-0-40-aaaaaaaa": 1, "--id 0-39-bbbbbbbb": 1, "--status pending --since 2h": 5,
	} {
		args := append([]string{"discard", "-c", "pipeline.yaml"}, strings.Fields(flags)...)
		d.want(cli.ExitRefused, args...)
		counted := 0
		for _, g := range each[dlq.GroupJSON](d) {
			counted += g.Count
		}
		expect.That(t, counted == want, "dry run of discard %s: %d dead letters, want %d", flags, counted, want)
		d.want(cli.ExitDone, append(args, "--execute", "--reason", "x")...).prints(fmt.Sprintf(`"selected":%d,"changed":%d,`, want, want))
		d.want(cli.ExitDone, "reopen", "-c", "pipeline.yaml", "--all", "--execute", "--reason", "x")
	}
}

func TestEdit_S4_8_shows_then_edits_then_wants_the_latest(t *testing.T) {
	d := newDesk(t, true).fill()
	d.want(cli.ExitNothing, "edit", "-c", "pipeline.yaml", "--set", "a=1", "--code", "timeout")
	d.want(cli.ExitNothing, "edit", "-c", "pipeline.yaml", "--patch", `[{"op":"remove","path":"/none"}]`)
	d.want(cli.ExitDone, "edit", "-c", "pipeline.yaml", "--set", "properties.a=1", "-o", "ndjson").counts(5, "\n")
	fix := []string{"edit", "1-42-cccccccc", "-c", "pipeline.yaml", "--set", "geometry.coordinates=[[[0,0],[2,0],[2,2],[0,2],[0,0]]]"}
	d.want(cli.ExitDone, fix...).prints("/geometry/coordinates", "today's transform passes")
	d.says("1 dead letter selected: 1 can be edited this way, and today's transform would pass 1 of them", "replayer edit -c pipeline.yaml --id 1-42-cccccccc --set 'geometry.coordinates=")
	d.want(cli.ExitDone, append(fix, "--execute", "--reason", "uncrossed")...)
	d.write("merge.json", []byte(`{"properties":{"checked":true}}`))
	again := []string{"edit", "1-42-cccccccc", "-c", "pipeline.yaml", "--merge", "@merge.json", "--execute", "--reason", "checked"}
	d.want(cli.ExitPartly, again...).prints("it was edited before")
	d.want(cli.ExitDone, append(again, "--from", "latest")...)
	d.want(cli.ExitDone, "show", "-c", "pipeline.yaml", "1-42-cccccccc").prints(`"checked":true`, "switchback-edit-of: features.dlq/1/")
}

// actions reads what `audit --operations` prints.
func (d *desk) actions(args ...string) []audit.Action {
	d.t.Helper()
	d.want(cli.ExitDone, append([]string{"audit", "-c", "pipeline.yaml", "--operations"}, args...)...)
	return each[audit.Action](d)
}

// A plan that is applied twice is two lines, each with its own reason and what it did; beside the name stands the system's user.
func TestOperations_S4_6_aLineForEachCall(t *testing.T) {
	d := newDesk(t, false).fill()
	d.want(cli.ExitDone, "plan", "-c", "pipeline.yaml", "--id", "0-40-aaaaaaaa", "-f", "plan.jsonl")
	d.want(cli.ExitDone, "replay", "-c", "pipeline.yaml", "--plan", "plan.jsonl", "--execute", "--reason", "first", "--actor", "anna")
	d.want(cli.ExitDone, "discard", "-c", "pipeline.yaml", "--id", "1-42-cccccccc", "--execute", "--reason", "not wanted", "--actor", "anna")
	for range 2 {
		d.run("undo", "-c", "pipeline.yaml", d.actions()[0].Operation, "--execute", "--reason", "no")
	}
	all := d.actions("--actor", "anna")
	byReason := map[string]int{}
	for _, a := range all {
		byReason[a.Reason] += a.Done[audit.Replayed] + a.Done[audit.StateChanged]
		expect.That(t, a.User != "" && strings.Contains(a.User, "@") && a.By == "anna", "%+v", a)
	}
	expect.That(t, len(all) == 2 && byReason["first"] == 1 && byReason["not wanted"] == 1, "%+v", all)
	d.want(cli.ExitDone, "audit", "-c", "pipeline.yaml", "--operations", "-o", "table").prints("anna (" + all[0].User + ")")
}

// What a person reads: own colours are whole, a dry run says "would", and the printed command has the reason that was given.
func TestWords_S4_8(t *testing.T) {
	d := newDesk(t, true).fill()
	d.env.Color = true
	d.want(cli.ExitDone, "show", "-c", "pipeline.yaml", "0-40-aaaaaaaa").prints(string(cli.Green) + "passes (remote steps and the sink are not tried)" + "\x1b[0m").hides("\uFFFD[")
	d.want(cli.ExitDone, "show", "-c", "pipeline.yaml", "1-42-cccccccc").prints(string(cli.Red) + "fails: geometry_invalid (gate): " + "\x1b[0m")
	d.env.Color = false
	const reason = "area is an estimate; it's \"rough\""
	for _, command := range [][]string{
		{"discard", "--code", "geometry_invalid"}, {"escalate", "--id", "1-42-cccccccc"}, {"replay", "--id", "0-40-aaaaaaaa"}, {"prune"},
	} {
		d.run(append(append(command, "-c", "pipeline.yaml"), "--reason", reason)...)
		said := d.err.String()
		expect.That(t, (!strings.Contains(said, "To do it:") || strings.Contains(said, "--execute --reason "+cli.ShellWord(reason))) && !strings.Contains(said, "'why'"), "%v: %s", command, said)
	}
	d.want(cli.ExitDone, "discard", "-c", "pipeline.yaml", "--id", "1-42-cccccccc", "--execute", "--reason", "x")
	d.env.Now = func() time.Time { return start }
	operation := ""
	for word := range strings.FieldsSeq(d.out.String()) {
		if strings.HasPrefix(word, "discard-") {
			operation = word
		}
	}
	d.want(cli.ExitDone, "undo", "-c", "pipeline.yaml", operation).prints("would change   1\n", "would skip     0\n").hides("\nchanged")
}

// crowd is more dead letters than may be changed without their number.
const crowd = replay.ManyLetters + 1

// A command without a filter changes nothing.
func TestBulk_S4_6_no_filter_is_not_everything(t *testing.T) {
	d := newDesk(t, false).fill()
	for _, command := range [][]string{{"discard"}, {"escalate"}, {"reopen"}, {"replay"}, {"edit", "--set", "properties.a=1"}} {
		args := append(command, "-c", "pipeline.yaml", "--execute", "--reason", "x")
		for _, filter := range [][]string{nil, {"--status", "pending"}} {
			d.want(cli.ExitRefused, append(args, filter...)...).says("--all")
		}
		d.want(cli.ExitUsage, append(args, "--all", "--code", "timeout")...)
	}
	d.want(cli.ExitDone, "list", "-c", "pipeline.yaml", "--status", "pending").counts(5, "\n")
	d.want(cli.ExitRefused, "discard", "-c", "pipeline.yaml").says("replayer discard -c pipeline.yaml --all --execute --reason")
	d.want(cli.ExitDone, "discard", "-c", "pipeline.yaml", "--all", "--execute", "--reason", "x")
	d.want(cli.ExitDone, "reopen", "-c", "pipeline.yaml", "--limit", "2", "--execute", "--reason", "a limit is a choice")
}

// Above 100 a script says how many it means; another number changes nothing.
func TestBulk_S4_6_many_letters_want_their_number(t *testing.T) {
	d := newDesk(t, false).many(crowd)
	for _, verb := range []string{"discard", "replay"} {
		args := []string{verb, "-c", "pipeline.yaml", "--code", "geometry_invalid"}
		d.want(cli.ExitRefused, args...).says(fmt.Sprintf("--code geometry_invalid --expect %d --execute", crowd))
		d.want(cli.ExitRefused, append(args, "--execute", "--reason", "x")...).says("--expect N")
		d.want(cli.ExitRefused, append(args, "--execute", "--reason", "x", "--expect", "100")...).says("nothing was changed")
	}
	d.want(cli.ExitRefused, "discard", "-c", "pipeline.yaml", "--limit", "3", "--expect", "4", "--execute", "--reason", "x") // few, but not so few
	d.want(cli.ExitNothing, "audit", "-c", "pipeline.yaml")
	d.want(cli.ExitDone, "discard", "-c", "pipeline.yaml", "--code", "geometry_invalid", "--expect", fmt.Sprint(crowd), "--execute", "--reason", "x")
}

// On a terminal the number is typed.
func TestBulk_S4_6_a_terminal_asks_for_the_number(t *testing.T) {
	d := newDesk(t, true).many(crowd)
	d.env.InTerminal, d.env.ErrTerminal = true, true
	args := []string{"discard", "-c", "pipeline.yaml", "--all", "--execute", "--reason", "x"}
	for _, typed := range []string{"", "\n", "yes\n", "100\n"} {
		d.env.In = strings.NewReader(typed)
		d.want(cli.ExitRefused, args...).says(fmt.Sprintf("This changes %d dead letters. Type the number to go on: ", crowd), "nothing was changed")
	}
	d.env.In = strings.NewReader(fmt.Sprintf(" %d \n", crowd))
	d.want(cli.ExitDone, args...)
	operation := regexp.MustCompile(`replayer undo -c pipeline.yaml (discard-\S+) --expect 101 --execute`).FindStringSubmatch(d.err.String())
	must.That(t, operation != nil && strings.Contains(d.out.String(), operation[1]), "stdout %s, stderr %s", &d.out, &d.err)
	d.want(cli.ExitDone, "audit", "-c", "pipeline.yaml", "-o", "json", "--operation", operation[1])
	d.want(cli.ExitDone, "undo", "-c", "pipeline.yaml", operation[1], "--expect", fmt.Sprint(crowd), "--execute", "--reason", "by mistake").prints("changed        101\n")
	d.want(cli.ExitNothing, "undo", "-c", "pipeline.yaml", operation[1]).prints("it was changed since: it is pending")
	d.want(cli.ExitNothing, "undo", "-c", "pipeline.yaml", "discard-1")
	d.want(cli.ExitUsage, "undo", "-c", "pipeline.yaml")
}

// status is what `replayer replays ID` says of a job.
func (d *desk) status(id string) states.Report {
	d.t.Helper()
	d.want(cli.ExitDone, "replays", "-c", "pipeline.yaml", "-o", "json", id)
	var r states.Report
	d.decode(&r)
	must.That(d.t, r.Job != nil, "no job in %s", &d.out)
	return r
}

// A second operator pauses, resumes and cancels a replay. The listing then shows how many dead letters were not sent, and the command it
// names sends them.
func TestJob_S4_6_isPausedResumedAndCancelled(t *testing.T) {
	d := newDesk(t, false).many(4)
	first := &desk{t: t, dir: d.dir, env: d.env}
	first.env.Out, first.env.Err = &first.out, &first.err
	ended := make(chan cli.Exit, 1)
	go func() {
		ended <- first.run("replay", "-c", "pipeline.yaml", "--all", "--replay-id", "fix", "--canary", "1", "--execute", "--reason", "mapped")
	}()
	eventually.Until(t.Context(), t, "the canary is sent", func() (bool, string) {
		if d.run("replays", "-c", "pipeline.yaml", "-o", "json", "fix") != cli.ExitDone {
			return false, d.err.String()
		}
		return d.status("fix").Attempted == 1, d.out.String()
	})
	var paused control.Job
	d.want(cli.ExitDone, "pause", "-c", "pipeline.yaml", "-o", "json", "fix")
	d.decode(&paused)
	expect.Equal(t, paused.State, control.JobPausing, "state in", &d.out)
	topiclog.Connect(t, d.brokers()).Tail(t, "features.control").Until(t.Context(), t, "it pauses", func(seen []*kgo.Record) bool {
		return slices.ContainsFunc(seen, func(r *kgo.Record) bool { return bytes.Contains(r.Value, []byte(`"state":"paused"`)) })
	})
	expect.Equal(t, d.status("fix").Job.State, control.JobPaused, "state")
	d.want(cli.ExitDone, "resume", "-c", "pipeline.yaml", "-o", "table", "fix").prints("replay fix is running: 1 of 4 dead letters put back, 3 not reached")
	d.want(cli.ExitDone, "cancel", "-c", "pipeline.yaml", "--actor", "bo", "fix")
	code := <-ended
	expect.That(t, code == cli.ExitStopped && strings.Contains(first.err.String(), "STOPPED: bo cancelled it; 3 of 4 dead letters were not reached"), "exit %d: %s", code, &first.err)
	expect.That(t, bytes.Contains(first.err.Bytes(), []byte("To continue with the rest:\n  replayer replay")), "%s", &first.err)
	r := d.status("fix")
	expect.That(t, r.Job.State == control.JobCancelled && r.Job.NotReached == 3 && r.UnderWay == 1, "%+v, %+v", r.Job, r)
	d.want(cli.ExitNothing, "pause", "-c", "pipeline.yaml", "nobody's")
	d.want(cli.ExitUsage, "pause", "-c", "pipeline.yaml")
	d.consume(func(string) bool { return true })
	d.want(cli.ExitNothing, "resume", "-c", "pipeline.yaml", "fix") // nothing waits
	d.says("fix is cancelled", "continue with")
	d.follow(cli.ExitDone)
	r = d.status("fix")
	expect.That(t, r.Job.State == control.JobDone && r.Job.Done == 3, "%+v", r.Job)
}

// An outcome of a dead letter that was not part of its replay does not count, and the overview warns of it.
func TestReplays_S4_10_warnsOfForeignOutcomes(t *testing.T) {
	d := newDesk(t, false)
	id := "0-40-aaaaaaaa"
	of := func(state deadletters.State, replayID string) *kgo.Record {
		state.ID, state.ReplayID, state.At, state.By = id, replayID, time.Now(), "ana"
		return state.Record("features.dlq-status", 0)
	}
	d.put(of(deadletters.State{Status: deadletters.Replaying, DLQ: header.Position{Topic: "features.dlq"}}, "r1"))
	d.want(cli.ExitDone, "replays", "-c", "pipeline.yaml", "-o", "table").prints("r1").hides("warning")
	d.put(of(deadletters.State{Status: deadletters.Reprocessed}, "r2"))
	d.want(cli.ExitDone, "replays", "-c", "pipeline.yaml", "-o", "table").says("warning: 1 outcome not counted", "features.dlq-status/0/", id+" became reprocessed in replay r2, but it was replaying, last in replay \"r1\"")
}

// consume closes each letter that was put back until the test ends, as well says.
func (d *desk) consume(well func(letter string) bool) {
	d.t.Helper()
	standin.Consume(d.t, d.brokers(), func(ctx context.Context, cl *kgo.Client, r *kgo.Record) {
		id, _ := topiclog.Header(r, header.KeyDeadLetterID)
		to := deadletters.Pending
		if well(id) {
			to = deadletters.Reprocessed
		}
		standin.Close(ctx, d.t, cl, r, to, start)
	})
}

// printed are the commands that were printed last, as a shell reads them, without the program's name.
func (d *desk) printed() (commands [][]string) {
	d.t.Helper()
	for line := range strings.Lines(d.err.String()) {
		before, command, ok := strings.Cut(line, "replayer ")
		if !ok || strings.TrimSpace(before) != "" && !strings.HasSuffix(before, ": ") { // the program's own name, in words
			continue
		}
		words := must.Get(exec.CommandContext(d.t.Context(), "bash", "-c", `printf '%s\0' `+strings.TrimSpace(command)).Output())(d.t)
		commands = append(commands, strings.Split(strings.TrimSuffix(string(words), "\x00"), "\x00"))
	}
	return commands
}

// follow runs the commands that were printed last, in their order.
func (d *desk) follow(want cli.Exit) {
	d.t.Helper()
	commands := d.printed()
	must.That(d.t, len(commands) != 0, "no command was printed: %s", &d.err)
	for _, command := range commands {
		d.want(want, command...)
	}
}

// "apply the same plan" left the canaries behind, and after a replay without a plan there was none to apply.
func TestAdvice_S2_6_afterAFailedCanary(t *testing.T) {
	t.Parallel()
	how := []string{"-c", "pipeline.yaml", "--canary", "1", "--actor", "bo's team", "--execute", "--reason", "mapped"}
	for name, begin := range map[string][]string{
		"a plan":              {"replay", "--plan", "the plan.jsonl"},
		"replay":              {"replay", "--code", "geometry_invalid"},
		"replay everything":   {"replay", "--all"},
		"replay with an id":   {"replay", "--all", "--replay-id", "again"},
		"replay with a limit": {"replay", "--limit", "4"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, false).many(4)
			var fixed atomic.Bool
			d.consume(func(string) bool { return fixed.Load() })
			d.want(cli.ExitDone, "plan", "-c", "pipeline.yaml", "-f", "the plan.jsonl")
			d.want(cli.ExitStopped, append(begin, how...)...).says("1 of the 1 dead letters of wave 1 failed again", "Once the cause is fixed")
			expect.That(t, name == "a plan" || strings.Contains(d.err.String(), " --replay-id "), "it goes on as another replay: %s", &d.err)
			fixed.Store(true)
			d.follow(cli.ExitDone)
			d.prints(`"reinjected":4,`, `"reprocessed":4,`)
			d.want(cli.ExitNothing, "list", "-c", "pipeline.yaml", "--status", "pending")
		})
	}
}

// Every command that is printed exists, and does what was meant.
func TestAdvice_S4_8_everyPrintedCommandWorks(t *testing.T) {
	d := newDesk(t, true).fill()
	for _, id := range []string{"0-50-aaaaaaaa", "0-51-aaaaaaaa"} {
		d.put(letter(0, id, fmt.Sprintf(square, id), "ring 3 crosses itself"))
	}
	d.consume(func(string) bool { return true })
	plan := func() {
		d.want(cli.ExitDone, "plan", "-c", "pipeline.yaml", "--id", "0-50-aaaaaaaa", "-f", "plan.jsonl")
	}
	for _, c := range []struct {
		name  string
		print func()
		ends  cli.Exit
	}{
		{"plan says how to apply it", plan, cli.ExitDone},
		{"a replay says how to wait", func() {
			d.want(cli.ExitDone, "replay", "-c", "pipeline.yaml", "--id", "0-51-aaaaaaaa", "--execute", "--reason", "x")
		}, cli.ExitDone},
		{"a dry run of replay", func() { d.want(cli.ExitDone, "replay", "-c", "pipeline.yaml", "--id", "0-40-aaaaaaaa", "--wait") }, cli.ExitDone},
		{"a dry run of discard", func() { d.want(cli.ExitDone, "discard", "-c", "pipeline.yaml", "--id", "1-42-cccccccc") }, cli.ExitDone},
		{"undo", func() {}, cli.ExitDone},
		{"undo of the undo", func() {}, cli.ExitDone},
		{"another dry run of discard", func() { d.want(cli.ExitDone, "discard", "-c", "pipeline.yaml", "--id", "0-43-dddddddd") }, cli.ExitDone},
		{"a dry run of reopen", func() { d.want(cli.ExitDone, "reopen", "-c", "pipeline.yaml") }, cli.ExitDone},
		{"groups names a dead letter", func() {
			d.want(cli.ExitDone, "groups", "-c", "pipeline.yaml")
		}, cli.ExitDone},
	} {
		t.Run(c.name, func(t *testing.T) {
			d.t = t
			c.print()
			d.follow(c.ends)
		})
	}
}
