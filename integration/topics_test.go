package integration

import (
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/must"
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
	listed := must.Get(p.log.Admin().ListTopics(p.ctx))(t)
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
