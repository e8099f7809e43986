package integration

import (
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/switchback-geo/switchback/internal/testkit/proc"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

// C-6: `topics ensure` creates every topic of the design, and `check` is then
// content; a second `ensure` changes nothing.
func TestTopicsEnsure_C6(t *testing.T) {
	testrun.Fast(t)
	t.Parallel()
	p := newPipe(t, time.Minute).ensure()
	if r := p.run("consumer", "topics", "check", "-c", p.file); r.Code != 0 {
		t.Errorf("consumer topics check: %s", r)
	}
	if r := p.run("consumer", "topics", "ensure", "-c", p.file); r.Code != 0 {
		t.Errorf("consumer topics ensure, again: %s", r)
	}
	id := p.set.ID
	want := map[string]int{id: 3, id + ".out": 3, id + ".dlq": 3, id + ".state": 3, id + ".audit": 3, id + ".dlq-status": 3, id + ".control": 1}
	for _, tier := range p.topics.Tiers {
		want[tier] = 3
	}
	listed, err := p.log.Admin().ListTopics(p.ctx)
	if err != nil {
		t.Fatal(err)
	}
	for topic, partitions := range want {
		if got := len(listed[topic].Partitions); got != partitions {
			t.Errorf("%s has %d partitions, want %d", topic, got, partitions)
		}
	}
	for _, topic := range append([]string{id + ".dlq"}, p.topics.Tiers...) {
		if got := p.setting(topic, "retention.ms"); got != "-1" {
			t.Errorf("%s has retention.ms %s, want -1: what waits must not expire", topic, got)
		}
		if got := p.setting(topic, "max.message.bytes"); got != "12599296" {
			t.Errorf("%s takes %s bytes, want 16 KiB more than the source's 12 MiB", topic, got)
		}
	}
	for _, topic := range []string{id + ".state", id + ".dlq-status", id + ".control"} {
		if got := p.setting(topic, "cleanup.policy"); got != "compact" {
			t.Errorf("%s has cleanup.policy %s, want compact", topic, got)
		}
	}
}

func (p *pipe) setting(topic, key string) string {
	p.t.Helper()
	configs, err := p.log.Admin().DescribeTopicConfigs(p.ctx, topic)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, c := range configs[0].Configs {
		if c.Key == key {
			return c.MaybeValue()
		}
	}
	return ""
}

// C-6: a partition count that does not fit is refused, by check and by run, with
// the topic, both numbers and the command that fixes it.
func TestTopicsMismatch_C6(t *testing.T) {
	testrun.Fast(t)
	t.Parallel()
	p := newPipe(t, time.Minute).ensure()
	tier := p.topics.Tiers[1]
	if err := p.log.Delete(p.ctx, tier); err != nil {
		t.Fatal(err)
	}
	t.Run("missing", func(t *testing.T) { p.wantRefused(t, tier) })
	if err := p.log.Create(p.ctx, tier, 2, map[string]string{"retention.ms": "-1", "max.message.bytes": "12599296"}); err != nil {
		t.Fatal(err)
	}
	t.Run("too_few_partitions", func(t *testing.T) { p.wantRefused(t, tier, "2", "3") })
}

// wantRefused wants check and run to refuse the topics in these words, and to
// say which command fixes them.
func (p *pipe) wantRefused(t *testing.T, words ...string) {
	t.Helper()
	for name, args := range map[string][]string{
		"topics_check": {"topics", "check", "-c", p.file},
		"run":          {"run", "-c", p.file, "--until-end"},
	} {
		t.Run(name, func(t *testing.T) {
			r := p.run("consumer", args...)
			said := r.Stdout + r.Stderr
			for _, word := range append(words, "kafka-topics") {
				if word == "kafka-topics" && strings.Contains(said, "topics ensure") {
					continue // either tool fixes
				}
				if !strings.Contains(said, word) {
					t.Errorf("%q is not said", word)
				}
			}
			if r.Code != 1 || t.Failed() {
				t.Errorf("want exit code 1, the topic and the fixing command: %s", r)
			}
		})
	}
}

// S0-4: a source that ends before what the group has committed was cut, or made anew. The consumer says so and ends, once and
// for good, whether its run is bounded or not: new records have the offsets of old ones.
func TestTopicsCut_S0_4(t *testing.T) {
	testrun.Nightly(t)
	t.Parallel()
	p := newPipe(t, 2*time.Minute).ensure()
	p.send(ids("d", 12)...)
	p.drain().balances(t)
	var beyond kadm.Offsets
	for partition := range int32(3) {
		beyond.AddOffset(p.topics.Source, partition, 1000, -1)
	}
	if err := p.log.Admin().CommitAllOffsets(p.ctx, p.set.ID, beyond); err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]proc.Result{
		"until the end": p.start("it", "--until-end").Wait(p.ctx, t),
		"for good":      p.start("it").Wait(p.ctx, t),
	} {
		if r.Code != 1 || !strings.Contains(r.Stderr, "and 1000 is committed; the brokers lost records, or the topic was re-created: see docs/operations.md") {
			t.Errorf("%s: %s", name, r)
		}
	}
	if out := p.read(p.topics.Output); len(out) != 12 {
		t.Errorf("%d outputs, want 12", len(out))
	}
}
