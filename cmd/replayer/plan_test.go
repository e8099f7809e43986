package main

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/pipeline"
	"github.com/switchback-geo/switchback/internal/replay/dryrun"
	"github.com/switchback-geo/switchback/internal/replay/plan"
	"github.com/switchback-geo/switchback/internal/status"
	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/pkg/classify"
)

// S4-8: a plan is made, looked at, applied, applied again.
func TestPlan_S4_8_is_applied_as_it_was_frozen(t *testing.T) {
	d := newDesk(t, false).fill()
	d.want(cli.ExitDone, "plan", "-c", "pipeline.yaml", "-f", "fix.jsonl", "--code", "geometry_invalid", "--replay-id", "r1")
	d.golden("plan-ndjson")
	d.put(letter(0, "0-99-eeeeeeee", fmt.Sprintf(square, "late"), "ring 3 crosses itself")) // after the plan
	d.put(deadletters.State{ID: "1-42-cccccccc", Status: deadletters.Discarded, At: start, By: "bo"}.Record("features.dlq-status", 1))
	d.want(cli.ExitRefused, "replay", "-c", "pipeline.yaml", "--plan", "fix.jsonl")
	d.want(cli.ExitPartly, "replay", "-c", "pipeline.yaml", "--plan", "fix.jsonl", "--including-failing", "--execute", "--reason", "fixed")
	var r struct {
		ReplayID                                         string `json:"replay_id"`
		Attempted, Reinjected, Duplicates, Left, Already int
		Skipped                                          []struct{ ID, Why string }
	}
	d.decode(&r)
	expect.That(t, r.ReplayID == "r1" && r.Attempted == 4 && r.Reinjected == 2 && r.Duplicates == 1 && r.Left == 1 && r.Skipped[0].ID == "1-42-cccccccc" && strings.Contains(r.Skipped[0].Why, "discarded since"),
		"%+v", r)
	d.want(cli.ExitPartly, "replay", "-c", "pipeline.yaml", "--plan", "fix.jsonl", "--including-failing", "--execute", "--reason", "again")
	d.decode(&r)
	expect.That(t, r.Reinjected == 0 && r.Already == 3, "%+v", r)
	d.want(cli.ExitDone, "replays", "-c", "pipeline.yaml", "r1").prints(`"attempted":2,"duplicates":1,"reprocessed":0,"failed_again":0,"escalated":0,"closed":0,"under_way":2`)
	d.want(cli.ExitDone, "list", "-c", "pipeline.yaml", "--id", "0-99-eeeeeeee", "--status", "pending")
}

// What the dry run refuses stays, and the answer says how many and why.
func TestReplay_S4_8_putsBackOnlyWhatPassesTheDryRun(t *testing.T) {
	d := newDesk(t, false)
	for i := range 3 {
		id := fmt.Sprintf("0-%d-aaaaaaaa", 40+i)
		d.put(letter(0, id, fmt.Sprintf(bowTie, id), "ring 3 crosses itself"))
	}
	d.put(letter(0, "0-50-bbbbbbbb", "{", "it ends too early"))
	all := []string{"replay", "-c", "pipeline.yaml", "--all"}
	d.want(cli.ExitRefused, all...)
	d.says("4 dead letters of features.dlq selected: 0 to put back into features (today's transform passes 0, refuses 4, which are left without --including-failing;",
		"Dry run: nothing would be put back. Today's transform refuses 4 dead letters: fix the cause first, or see --including-failing.")
	d.hides("--execute --reason") // it would do nothing
	d.want(cli.ExitRefused, append(all, "-o", "table")...).prints("geometry_invalid  leave ", "  fails: geometry_invalid")
	d.want(cli.ExitRefused, append(all, "-o", "table", "--including-failing")...).prints("geometry_invalid  reinject ", "  fails: geometry_invalid")
	execute := append(all, "--execute", "--reason", "try", "-o", "table")
	d.want(cli.ExitPartly, execute...)
	if out := d.out.String(); !strings.Contains(out, "put back       0 into features\n") || strings.Count(out, "transform would refuse it") != 2 || !strings.Contains(out, "      3  0-40-aaaaaaaa  today's transform would refuse it: geometry_invalid") {
		t.Errorf("stdout %s", out)
	}
	d.want(cli.ExitDone, "list", "-c", "pipeline.yaml", "--status", "pending").counts(4, "\n")
	d.want(cli.ExitDone, "plan", "-c", "pipeline.yaml", "-f", "plan.jsonl").says("it puts nothing back. Today's transform refuses 4 dead letters")
	d.want(cli.ExitRefused, "replay", "-c", "pipeline.yaml", "--plan", "plan.jsonl", "--including-failing").says("replayer replay -c pipeline.yaml --plan plan.jsonl --including-failing --execute")
	d.want(cli.ExitDone, append(execute, "--including-failing")...).prints("put back       4 into features\n")
}

// overtaken writes a letter and says that a newer event of its key took effect since.
func (d *desk) overtaken() {
	d.put(letter(0, "0-40-aaaaaaaa", fmt.Sprintf(square, "a"), "ring 3 crosses itself"),
		letter(1, "1-42-cccccccc", fmt.Sprintf(square, "c"), "ring 1 crosses itself"),
		&kgo.Record{Topic: "features.state", Key: []byte("0-40-aaaaaaaa"), Value: []byte(`{"format":1,"dead_letters":1,"applied":[0,60]}`)})
}

func TestForce_S4_8_warns_and_asks_for_a_reason(t *testing.T) {
	d := newDesk(t, true)
	d.overtaken()
	d.want(cli.ExitUsage, "replay", "-c", "pipeline.yaml", "--force-version").says("--force-version needs --reason")
	d.want(cli.ExitDone, "replay", "-c", "pipeline.yaml", "--force-version", "--reason", "the newer survey is wrong")
	d.want(cli.ExitDone, "replay", "-c", "pipeline.yaml", "-o", "json", "--replay-id", "r1", "--force-version", "--reason", "the newer survey is wrong")
	d.golden("forced-json")
	d.want(cli.ExitDone, "replay", "-c", "pipeline.yaml").prints("superseded").says("1 of them superseded by newer events")
	d.want(cli.ExitDone, "replay", "-c", "pipeline.yaml", "--force-version", "--reason", "the newer survey is wrong", "--all", "--execute").says("WARNING: --force-version: will overwrite newer data: 1, forced.")
}

// A dry run says who sees the records again, and a replay waits for the group that is watched.
func TestAudience_S4_8_C4(t *testing.T) {
	d, at := payments(t, false)
	d.put(d.died("payments", 0, 0, "k", `{"amount":1}`))
	commit := func(group string, offset int64) {
		t.Helper()
		offsets := kadm.Offsets{}
		for p := range int32(3) {
			offsets.AddOffset("payments", p, offset, -1)
		}
		must.Do(t, kadm.NewClient(d.writer).CommitAllOffsets(t.Context(), group, offsets))
	}
	for _, want := range []string{"No consumer group has committed an offset of payments", "payments is read by the group billing (lag 0); --watch-group", "warning: payments is read by 2 groups, and each reads the records again: billing (lag 0), fraud (lag 0)"} {
		d.want(cli.ExitRefused, with(at, "replay")...).says(want)
		if strings.HasPrefix(want, "No") {
			commit("billing", 0)
		} else {
			commit("fraud", 0)
		}
	}
	d.want(cli.ExitRefused, with(at, "replay", "-o", "table", "--expr", "value.amount = value.amuont")...).says("warning: an expression reads value.amuont, which 1 value does not have: it is null there")
	back := with(at, "replay", "--all", "--origin", "payments", "--execute", "--reason", "x", "--create-topics", "-o", "table", "--grace", "0s")
	d.want(cli.ExitUsage, append(back, "--watch-group", "nobody")...)
	expect.That(t, strings.Contains(d.err.String(), "there is no such consumer group") && len(d.read("payments")) == 0, "%s", &d.err)
	d.want(cli.ExitUsage, append(back, "--wait")...).says("--wait needs --watch-group here: other software does not report which dead letters it has processed")
	expect.Equal(t, len(d.read("payments")), 0, "put back")
	commit("billing", 100) // it is ahead of whatever comes
	d.want(cli.ExitDone, append(back, "--watch-group", "billing", "--replay-id", "r1")...).prints("consumed       1")
	d.want(cli.ExitDone, with(at, "replays", "r1", "-o", "table")...).hides("reprocessed").prints(
		"replay r1 is done: 1 of 1 dead letter put back, wave 1; group billing: 1 consumed, 0 waiting", "consumed       1: group billing committed beyond them", "through        payments/0/0", "died again     0")
	d.want(cli.ExitDone, with(at, "replays", "-o", "table")...).prints("group billing: 1 consumed, 0 waiting")
	d.want(cli.ExitDone, with(at, "audit", "--operation", "r1", "-o", "table")...).prints("watched", "group billing: 1 consumed, 0 died again, 0 waiting, through payments/0/0")
	d.want(cli.ExitDone, with(at, "audit", "--operations", "-o", "table")...).prints("; group billing: 1 consumed")
	address, _ := serving(t, d, at...)
	_, page := load(t, address+"replays/r1")
	expect.That(t, strings.Contains(string(page), "<dt>Consumed</dt><dd>1 by group billing, through payments/0/0</dd>") && !strings.Contains(string(page), "Reprocessed"), "%s", page)
}

// announcing is a balancer whose members say something.
type announcing struct {
	kgo.GroupBalancer
	says []byte
}

func (a announcing) JoinGroupMetadata(interests []string, owned map[string][]int32, generation int32) []byte {
	meta := kmsg.NewConsumerMemberMetadata()
	meta.Version, meta.Topics, meta.UserData = 1, interests, a.says
	return meta.AppendTo(nil)
}

// member is a member of the pipeline's group until the function is called, or the test ends.
func (d *desk) member(name string, says []byte) (leave func()) {
	d.t.Helper()
	client := must.Get(kgo.NewClient(kgo.SeedBrokers(d.brokers()...), kgo.ConsumerGroup("features"), kgo.ConsumeTopics("features"), kgo.ClientID(name),
		kgo.HeartbeatInterval(50*time.Millisecond), kgo.Balancers(announcing{kgo.RangeBalancer(), says})))(d.t)
	ctx, cancel := context.WithCancel(d.t.Context())
	go func() {
		for ctx.Err() == nil {
			client.PollFetches(ctx)
		}
	}()
	leave = func() { cancel(); client.Close() }
	d.t.Cleanup(leave)
	return leave
}

// shows waits until a dry run says of an instance, in its first lines, what its mapping is.
func (d *desk) shows(instance, verdict string) {
	d.t.Helper()
	want := regexp.MustCompile(`instance ` + instance + ` at 127\.0\.0\.1\S*( \(v1\.2\.3\))?, ` + verdict)
	eventually.Until(d.soon(), d.t, want.String(), func() (bool, string) {
		d.run("replay", "-c", "pipeline.yaml", "--all", "--including-failing")
		head := strings.Join(strings.SplitN(d.err.String(), "\n", 4)[:3], "\n")
		return want.MatchString(head), head
	})
}

func announcement(t *testing.T, file string) []byte {
	t.Helper()
	m := must.Get(pipeline.NewMapping(must.Get(config.Load(file))(t)))(t)
	return must.Get(status.Announcement{Mapping: must.Get(m.Fingerprint())(t), Software: "v1.2.3"}.Encode())(t)
}

// The trap: the mapping was corrected in the file, all passes in the dry run, and the instances still run the old one.
func TestReplay_S4_8_refusesWhileTheInstancesRunAnotherMapping(t *testing.T) {
	d := newDesk(t, false).fill()
	deployed := announcement(t, d.file("pipeline.yaml"))
	text := must.Get(os.ReadFile(d.file("pipeline.yaml")))(t)
	d.write("pipeline.yaml", append(text, "transform: { fields: [{ from: name, to: title }] }\n"...))
	corrected := announcement(t, d.file("pipeline.yaml"))

	leave := d.member("old-1", deployed)
	d.shows("old-1", "DIFFERENT")
	d.want(cli.ExitDone, "plan", "-c", "pipeline.yaml", "-f", "plan.jsonl", "--id", "0-40-aaaaaaaa")
	first, _, _ := strings.Cut(d.err.String(), "\n")
	expect.That(t, strings.HasPrefix(first, "mapping sha256:"), "the plan begins with %q", first)
	before := d.topics()
	for _, command := range [][]string{
		{"replay", "-c", "pipeline.yaml", "--id", "0-40-aaaaaaaa", "--execute", "--reason", "fixed"},
		{"replay", "-c", "pipeline.yaml", "--plan", "plan.jsonl", "--execute", "--reason", "fixed"},
	} {
		d.want(cli.ExitRefused, command...).says("instance old-1", "DIFFERENT", "nothing was put back", "restart all of them", "--mapping-differs")
	}
	d.unchanged(before)

	d.member("new-1", corrected)
	d.shows("new-1", "the same")
	d.says("differ among themselves")
	leave()
	eventually.Until(d.soon(), t, "the deployment is done", func() (bool, string) {
		d.run("replay", "-c", "pipeline.yaml", "--all", "--including-failing")
		return !strings.Contains(d.err.String(), "DIFFERENT") && strings.Contains(d.err.String(), "the same"), d.err.String()
	})
	d.want(cli.ExitDone, "replay", "-c", "pipeline.yaml", "--plan", "plan.jsonl", "--execute", "--reason", "fixed")
}

// show says what an instance with another mapping would make of a dead letter, as soon as its pipeline file is published
// and its files are at hand.
func TestShow_S4_6_whatTheDeployedMappingSays(t *testing.T) {
	d := newDesk(t, false).fill()
	file := d.file("pipeline.yaml")
	d.write("zones.csv", []byte("id\nA\n"))
	text := must.Get(os.ReadFile(file))(t)
	d.write("pipeline.yaml", append(slices.Clone(text), "transform: { references: [{ name: zones, file: "+d.file("zones.csv")+", column: id }], fields: [{ from: owner, to: owner, required: true }] }\n"...))
	deployed, says := must.Get(must.Get(config.Load(file))(t).YAML())(t), announcement(t, file)
	fingerprint := status.ReadAnnouncement(says).Mapping
	d.write("pipeline.yaml", append(slices.Clone(text), "transform: { references: [{ name: zones, file: "+d.file("zones.csv")+", column: id }] }\n"...))
	d.put(letter(0, "0-90-dddddddd", fmt.Sprintf(square, "d"), "ring 3 crosses itself"))
	show := []string{"show", "-c", "pipeline.yaml", "0-90-dddddddd"}
	verdict := func() (r struct {
		Today    plan.Verdict
		Deployed []dryrun.DeployedVerdict
	}) {
		d.want(cli.ExitDone, append(show, "-o", "json")...).decode(&r)
		return r
	}
	expect.That(t, verdict().Today.Passes && verdict().Deployed == nil, "nobody runs: %+v", verdict())

	d.member("old-1", says)
	eventually.Until(d.soon(), t, "the instance is known", func() (bool, string) { return len(verdict().Deployed) == 1, fmt.Sprint(verdict()) })
	r := verdict()
	expect.That(t, r.Today.Passes && r.Deployed[0].Verdict == nil && r.Deployed[0].Mapping == fingerprint && strings.Contains(r.Deployed[0].Unknown, "features.control does not have their pipeline file"), "%+v", r)

	publish := func(file []byte) {
		must.Do(t, control.PublishMapping(t.Context(), []kgo.Opt{kgo.SeedBrokers(d.brokers()...)}, "features.control", fingerprint, control.Mapping{File: string(file), Software: "v1.2.3", At: start}))
	}
	publish(deployed)
	r = verdict()
	must.That(t, r.Today.Passes && r.Deployed[0].Verdict != nil, "%+v", r)
	expect.That(t, r.Deployed[0].Verdict.Code == classify.CodeMissingRequired && r.Deployed[0].Instances[0] == "old-1" && r.Deployed[0].Software == "v1.2.3", "%+v", r)
	d.want(cli.ExitDone, append(show, "-o", "table")...).prints("what the mapping of old-1 says, which is another one", status.ShortMapping(fingerprint), "fails: missing_required", "passes (remote steps")

	d.write("zones.csv", []byte("id\nB\n")) // the instance has read the former file
	r = verdict()
	expect.That(t, r.Deployed[0].Verdict == nil && strings.Contains(r.Deployed[0].Unknown, "read other files than this process"), "%+v", r)
	for _, hostile := range []string{"pipeline: [", "a: &a [*a]", strings.Replace(string(deployed), "required: true", "required: false", 1), "\x00\x1b[31m"} {
		publish([]byte(hostile))
		r = verdict()
		expect.That(t, r.Today.Passes && r.Deployed[0].Verdict == nil && r.Deployed[0].Unknown != "", "%q: %+v", hostile, r)
	}
}

// soon bounds a wait for the group.
func (d *desk) soon() context.Context {
	ctx, cancel := context.WithTimeout(d.t.Context(), testrun.Patient(20*time.Second))
	d.t.Cleanup(cancel)
	return ctx
}
