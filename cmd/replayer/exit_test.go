package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/replay"
	"github.com/switchback-geo/switchback/internal/replay/jobs"
	"github.com/switchback-geo/switchback/internal/replay/states"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/helptext"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

func TestExit_2_usage(t *testing.T) {
	d := newDesk(t, true)
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"lst"}, "unknown command \"lst\" for `replayer`; did you mean list?"},
		{[]string{"lst", "--code", "not_json"}, "unknown command \"lst\" for `replayer`; did you mean list?"},
		{[]string{"bogus"}, "see `replayer --help`"},
		{[]string{"audit", "-c", "pipeline.yaml", "--source", "features/3"}, "write it as topic/partition/offset"},
		{[]string{"audit", "-c", "pipeline.yaml", "--operations", "--all"}, "--all"},
		{[]string{"replay", "-c", "pipeline.yaml", "--topic", "features.dlq"}, "--brokers"},
		{[]string{"list", "--colour"}, "unknown flag"},
		{[]string{"list", "extra"}, "extra"},
		{[]string{"list"}, "which pipeline?"},
		{[]string{"list", "-c", "pipeline.yaml", "-o", "yaml"}, "unknown output"},
		{[]string{"list", "-c", "pipeline.yaml", "--status", "gone"}, "unknown status"},
		{[]string{"list", "-c", "pipeline.yaml", "--since", "yesterday"}, "--since"},
		{[]string{"list", "-c", "pipeline.yaml", "--limit", "-1"}, "limit"},
		{[]string{"list", "-c", "pipeline.yaml", "--bbox", "1,2,3"}, "--bbox"},
		{[]string{"list", "-c", "pipeline.yaml", "--header", "switchback-error-code=x"}, "--header"},
		{[]string{"export", "-c", "pipeline.yaml", "--format", "xlsx"}, "unknown format"},
		{[]string{"list", "-c", "absent.yaml"}, "absent.yaml"},
		{[]string{"show", "-c", "pipeline.yaml"}, "id of one dead letter"},
		{[]string{"replay", "-c", "pipeline.yaml", "--execute"}, "--reason"},
		{[]string{"replay", "-c", "pipeline.yaml", "--ramp", "fast"}, "--ramp"},
		{[]string{"replay", "-c", "pipeline.yaml", "--ramp", "10x"}, "canary"},
		{[]string{"replay", "-c", "pipeline.yaml", "--rate", "many"}, "--rate"},
		{[]string{"replay", "-c", "pipeline.yaml", "--to", "features.dlq"}, "belongs to this pipeline"},
		{[]string{"plan", "-c", "pipeline.yaml"}, "-f"},
		{[]string{"plan", "-c", "pipeline.yaml", "-f", "pipeline.yaml"}, "never overwritten"},
		{[]string{"replay", "-c", "pipeline.yaml", "--plan", "p.plan", "--code", "x"}, "--code: the plan determines this"},
		{[]string{"replay", "-c", "pipeline.yaml", "--plan", "p.plan", "--to", "t"}, "--to: the plan determines"},
		{[]string{"replay", "-c", "pipeline.yaml", "--plan", "nowhere.jsonl"}, "nowhere.jsonl"},
		{[]string{"replay", "-c", "pipeline.yaml", "--plan", "pipeline.yaml"}, "not the first line of a plan"},
		{[]string{"replays", "-c", "pipeline.yaml", "--wait"}, "id of one replay"},
		{[]string{"replays", "-c", "pipeline.yaml", "r1", "--watch"}, "leave the id out"},
		{[]string{"replays", "-c", "pipeline.yaml", "--watch", "--every", "1ms"}, "from 500ms to 1h0m0s"},
		{[]string{"reopen", "-c", "pipeline.yaml", "--lost", "--status", "pending"}, "lost replays have the status replaying"},
		{[]string{"reopen", "-c", "pipeline.yaml", "--lost", "--including-put-back"}, "[lost including-put-back]"},
		{[]string{"index", "-c", "pipeline.yaml", "--check", "--rebuild"}, "[check rebuild]"},
		{[]string{"edit", "-c", "pipeline.yaml", "--set", "a"}, "is not an assignment"},
		{[]string{"edit", "-c", "pipeline.yaml", "--patch", "@absent.json"}, "absent.json"},
		{[]string{"edit", "-c", "pipeline.yaml", "--set", "a=1", "--execute"}, "--reason"},
		{[]string{"discard", "-c", "pipeline.yaml", "--topic", "orders-dlt", "--all"}, "--topic names a DLQ without a pipeline here"},
		{[]string{"discard", "-c", "pipeline.yaml", "--topic", "orders-dlt", "--all", "--execute", "--reason", "x"}, "--topic names a DLQ without a pipeline here"},
	} {
		d.want(cli.ExitUsage, c.args...)
		expect.That(t, strings.Contains(d.err.String(), c.says) && d.out.Len() == 0, "%v: stderr %q does not say %q, or stdout has %q", c.args, &d.err, c.says, &d.out)
	}
}

func TestExit_1_broker_unreachable_is_one_line(t *testing.T) {
	d := newDesk(t, true)
	closed := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	d.writePipeline([]string{closed.Addr().String()})
	must.Do(t, closed.Close())
	d.want(cli.ExitRuntime, "list", "-c", "pipeline.yaml")
	lines := strings.Count(d.err.String(), "\n")
	expect.That(t, lines == 1 && strings.Contains(d.err.String(), "cannot reach Kafka"), "%d lines: %s", lines, &d.err)
	for _, command := range []string{"list", "replay"} { // without a pipeline file
		d.want(cli.ExitRuntime, command, "--brokers", closed.Addr().String(), "--topic", "payments.DLT").says("set --brokers, SWITCHBACK_KAFKA_BROKERS or the profile")
	}
}

func TestExit_3_nothing_matched(t *testing.T) {
	d := newDesk(t, true)
	for _, args := range [][]string{{"list"}, {"groups"}, {"replay"}, {"show", "nobody"}, {"replay", "--all", "--execute", "--reason", "x"}, {"plan", "-f", "p.plan"}, {"replays", "nobody"}, {"audit", "--operations"}} {
		d.want(cli.ExitNothing, append(args, "-c", "pipeline.yaml")...)
		expect.That(t, strings.Count(d.err.String(), "\n") == 1 && d.out.Len() == 0, "%v: stderr %q, stdout %q", args, &d.err, &d.out)
	}
}

func TestExit_of_an_execution(t *testing.T) {
	broken := errors.New("broken")
	for _, c := range []struct {
		name   string
		result replay.Result
		err    error
		want   cli.Exit
	}{
		{"all done", replay.Result{Reinjected: 2, Transactions: 1}, nil, cli.ExitDone},
		{"some left", replay.Result{Untouched: replay.Untouched{Left: 1}}, nil, cli.ExitPartly},
		{"failed at once", replay.Result{}, broken, cli.ExitRuntime},
		{"failed in between", replay.Result{Transactions: 1}, broken, cli.ExitPartly},
		{"some failed again", replay.Result{Outcome: &states.Counts{FailedAgain: 1}}, nil, cli.ExitPartly},
		{"stopped by itself", replay.Result{Transactions: 1}, &replay.StopError{Size: 5, Failed: 1}, cli.ExitStopped},
		{"taken over", replay.Result{Transactions: 1}, fmt.Errorf("x: %w", jobs.ErrFenced), cli.ExitStopped},
		{"taken over at once", replay.Result{}, fmt.Errorf("x: %w", jobs.ErrFenced), cli.ExitRefused},
		{"taken over amid the first", replay.Result{}, fmt.Errorf("%w; %w", jobs.ErrFenced, replay.ErrUndecided), cli.ExitStopped},
		{"interrupted", replay.Result{Transactions: 1}, fmt.Errorf("x: %w", context.Canceled), cli.ExitInterrupted},
	} {
		got, _ := codeOf(ending(c.result, c.err))
		expect.That(t, got == c.want, "%s: exit %d, want %d", c.name, got, c.want)
	}
}

func TestExit_130_interrupted(t *testing.T) {
	d := newDesk(t, true).fill()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	expect.Equal(t, d.runIn(ctx, "list", "-c", "pipeline.yaml"), cli.ExitInterrupted, "exit, with", &d.err)
}

// A filter that is printed as flags selects the same letters when a shell has read it.
func TestFlagsOf_come_back_as_the_filter_they_were(t *testing.T) {
	want := deadletters.Filter{
		IDs: []string{"a,b", `say "no"`, "\x1b[2J'\\"}, Features: []string{"1,2", "line\nbreak"}, Codes: []string{"c d"}, Text: "ü\u202e",
		Since: start.Add(-700 * time.Millisecond), Until: start.Add(-123 * time.Microsecond),
	}
	text := flagsOf(want)
	expect.That(t, !strings.ContainsFunc(text, cli.SteersInText), "%q can steer a terminal", text)
	words := must.Get(exec.Command("bash", "-c", `printf '%s\0' `+text).Output())(t)
	var sel selection
	cmd := &cobra.Command{}
	sel.register(cmd)
	must.Do(t, cmd.ParseFlags(strings.Split(strings.TrimSuffix(string(words), "\x00"), "\x00")))
	got, err := sel.filter(start)
	expect.That(t, err == nil && fmt.Sprintf("%#v", got) == fmt.Sprintf("%#v", want), "%+v, %v, want %+v", got, err, want)
}

// A script that asks for JSON gets the object that it expects, with an exit code that says that it is empty.
func TestExit_S4_8_nothing_to_replay_is_an_object_too(t *testing.T) {
	d := newDesk(t, false)
	for _, c := range []struct {
		want string
		args []string
	}{
		{`"dead_letters":[]`, []string{"replay"}},
		{`"reinjected":0`, []string{"replay", "--all", "--execute", "--reason", "fixed"}},
		{`"dead_letters":[]`, []string{"plan", "-f", "plan.jsonl"}},
	} {
		d.want(cli.ExitNothing, append(c.args, "-c", "pipeline.yaml", "-o", "json")...)
		var object map[string]any
		err := json.Unmarshal(d.out.Bytes(), &object)
		expect.That(t, err == nil && strings.Contains(strings.ReplaceAll(d.out.String(), " ", ""), c.want), "%q: %s (%v)", c.args, &d.out, err)
	}
	_, err := os.Stat(d.file("plan.jsonl"))
	expect.That(t, errors.Is(err, os.ErrNotExist), "an empty plan is left: %v", err)
}

// Every command is in a group of the help, and has an example that calls it with flags that it has.
func TestHelp_everyCommandHasAGroupAndAnExample(t *testing.T) {
	d := newDesk(t, true)
	a := &app{env: d.env}
	for _, fault := range helptext.Faults(a.root()) {
		t.Error(fault)
	}
}

func TestVersion_needsNeitherFileNorBroker(t *testing.T) {
	d := newDesk(t, true)
	d.want(cli.ExitDone, "version")
	d.env.Terminal = false
	for _, args := range [][]string{{"version"}, {"version", "-o", "json"}} {
		d.want(cli.ExitDone, args...)
		var got cli.Build
		err := json.Unmarshal(d.out.Bytes(), &got)
		expect.That(t, err == nil && got == d.env.Version, "%v: %v\n%s", args, err, &d.out)
	}
	d.want(cli.ExitUsage, "version", "now")
}

func TestRewriting_S4_8_refusesWhatCannotBe(t *testing.T) {
	d, at := payments(t, false)
	for want, args := range map[string][]string{
		"give one of":                   {"--set", "a=1", "--filter", "cat"},
		"write value.field":             {"--expr", "upper(value.a)"},
		"--schema: ":                    {"--schema", "nowhere.json"},
		"--patch: it is not valid JSON": {"--patch", "[{"},
		"use a positive duration":       {"--filter", "cat", "--filter-timeout", "0s"},
	} {
		d.want(cli.ExitUsage, with(at, append([]string{"replay"}, args...)...)...).says(want)
	}
	own := anotherDesk(t, false).fill()
	own.want(cli.ExitUsage, "replay", "-c", "pipeline.yaml", "--set", "properties.a=1").says("replayer edit")
	own.want(cli.ExitRefused, "edit", "-c", "pipeline.yaml", "--expr", `value.properties.note = upper("fixed")`).says("can be edited this way")
	own.want(cli.ExitUsage, "edit", "-c", "pipeline.yaml")
}

func TestIndex_S4_6_a_damaged_file_is_named_and_rebuilt(t *testing.T) {
	d := newDesk(t, false).fill()
	file := []string{"-c", "pipeline.yaml", "--index", "dead.sqlite"}
	d.want(cli.ExitDone, append([]string{"stats"}, file...)...)
	figures := d.out.String()
	whole := must.Get(os.ReadFile(d.file("dead.sqlite")))(t)
	const page = 16384
	damaged := append(append(bytes.Clone(whole[:page]), bytes.Repeat([]byte{0x5a}, page)...), whole[2*page:]...)
	d.write("dead.sqlite", damaged)
	for _, command := range []string{"list", "groups", "stats", "index", "plan -f plan.jsonl", "replay", "discard", "edit --set properties.a=1"} {
		d.want(cli.ExitRuntime, append(strings.Fields(command), file...)...)
		said := d.err.String()
		expect.That(t, strings.Contains(said, "dead.sqlite is damaged") && strings.Contains(said, "replayer index --rebuild") && d.out.Len() == 0, "%s: %s%s", command, &d.out, said)
	}
	d.want(cli.ExitDone, append([]string{"index", "--rebuild"}, file...)...).says("dead.sqlite.damaged")
	d.want(cli.ExitDone, append([]string{"index", "--check"}, file...)...)
	d.want(cli.ExitDone, append([]string{"stats"}, file...)...)
	expect.That(t, d.out.String() == figures, "%s\nbefore the damage:\n%s", &d.out, figures)
}

// Who asks for the reason that simulate prints learns which code such dead letters have.
func TestFilter_S4_8_aReasonIsNoCode(t *testing.T) {
	newDesk(t, true).fill().want(cli.ExitNothing, "list", "-c", "pipeline.yaml", "--code", "retries_exhausted").says("the code of their last error")
}
