package main

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/pipeline"
	"github.com/switchback-geo/switchback/internal/status"
	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

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
		kgo.Balancers(announcing{kgo.RangeBalancer(), says})))(d.t)
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
	deployed := announcement(t, "pipeline.yaml")
	text := must.Get(os.ReadFile("pipeline.yaml"))(t)
	must.Do(t, os.WriteFile("pipeline.yaml", append(text, "transform: { fields: [{ from: name, to: title }] }\n"...), 0o600))
	corrected := announcement(t, "pipeline.yaml")

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
		d.want(cli.ExitRefused, command...)
		d.says("instance old-1", "DIFFERENT", "nothing was put back", "restart all of them", "--mapping-differs")
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

// soon bounds a wait for the group.
func (d *desk) soon() context.Context {
	ctx, cancel := context.WithTimeout(d.t.Context(), testrun.Patient(20*time.Second))
	d.t.Cleanup(cancel)
	return ctx
}
