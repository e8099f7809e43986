package integration

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/conservation"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/misbehave"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/proc"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

// holds is what an instance says once it obeys an order to hold.
var holds = regexp.MustCompile(`"msg":"pipeline paused"`)

// does runs a command of the consumer, which must succeed.
func (p *pipe) does(args ...string) proc.Result {
	p.t.Helper()
	r := p.run("consumer", append(args, "-c", p.file)...)
	must.That(p.t, r.Code == 0, "consumer %s: %s", strings.Join(args, " "), r)
	return r
}

// pipelineStatus is what `consumer status` says.
type pipelineStatus struct {
	State struct{ State, Reason, Code, By, At string }
	Lag   int
	Tiers []struct {
		Topic   string
		Waiting int
	}
	Batches []struct{ ID, Reason string } `json:"quarantined_batches"`
	Shards  []struct{ Partition, Committed, End, Lag int }
}

func (p *pipe) state() (s pipelineStatus) {
	p.t.Helper()
	r := p.does("status", "-o", "json")
	must.Do(p.t, json.Unmarshal([]byte(r.Stdout), &s))
	return s
}

// fleet starts instances.
func (p *pipe) fleet(names ...string) (all []*proc.Process) {
	for _, name := range names {
		all = append(all, p.start(name))
	}
	return all
}

// holding starts instances and returns once each says that it holds.
func (p *pipe) holding(names ...string) []*proc.Process {
	p.t.Helper()
	all := p.fleet(names...)
	for _, i := range all {
		i.WaitFor(p.ctx, p.t, i.Stderr, holds)
	}
	return all
}

func (p *pipe) kill(instances ...*proc.Process) {
	p.t.Helper()
	for _, i := range instances {
		expect.That(p.t, i.Kill(), "an instance ended by itself")
	}
}

// finish waits until held instances have heard of the resume, stops them, and drains what is left.
func (p *pipe) finish(instances ...*proc.Process) {
	p.t.Helper()
	for _, i := range instances {
		i.WaitFor(p.ctx, p.t, i.Stderr, regexp.MustCompile(`"msg":"pipeline resumed"`))
	}
	for _, i := range instances {
		i.Signal(p.t, syscall.SIGTERM)
		expect.Equal(p.t, i.Wait(p.ctx, p.t).Code, 0, "an instance that was held and resumed code")
	}
	p.drain()
}

// ordersTrail is what the audit trail says of the pipeline as a whole.
func (p *pipe) ordersTrail() string {
	p.t.Helper()
	var trail []string
	for _, r := range p.read(p.topics.Audit) {
		var e struct{ Decision, Reason, Source string }
		if err := json.Unmarshal(r.Value, &e); err != nil {
			p.t.Errorf("audit event %s: %v", r.Value, err)
		} else if e.Source == "" {
			trail = append(trail, e.Decision+": "+e.Reason)
		}
	}
	return strings.Join(trail, "; ")
}

// triedOnce fails the test when an output or dead letter took another attempt than the first.
func (p *pipe) triedOnce(topics ...string) {
	p.t.Helper()
	for _, topic := range topics {
		for _, r := range p.read(topic) {
			n, err := strconv.Atoi(value(r, "switchback-attempt"))
			expect.That(p.t, err != nil || n <= 1, "%s/%d/%d took %d attempts", r.Topic, r.Partition, r.Offset, n)
		}
	}
}

func value(r *kgo.Record, header string) string {
	for _, h := range r.Headers {
		if h.Key == header {
			return string(h.Value)
		}
	}
	return ""
}

// S1-8, S4-12: what a person orders holds in every instance and over the death of all of them. Nothing is lost or spent
// meanwhile.
func TestPause_S1_8_S4_12(t *testing.T) {
	beside(t, testrun.Fast)
	p := newPipe(t, 2*time.Minute, killed).ensure()
	first, second := ids("a", 120), ids("b", 120)
	p.places.Script(first[7], misbehave.Status(503)) // one waits in a tier for a while
	p.send(first...)
	p.drain()
	p.does("pause", "--reason", "maintenance of the target", "--actor", "ana")
	p.send(second...)
	p.kill(p.holding("one", "two")...)
	again := p.holding("one", "two", "three")
	s := p.state()
	expect.That(t, s.State.State == "paused" && s.State.Reason == "maintenance of the target" && s.State.By == "ana" && s.State.Code == "operator" && s.Lag >= len(second), "status: %+v", s)
	expect.Equal(t, len(p.read(p.topics.Output)), len(first), "outputs while held")
	r := p.start("bounded", "--until-end", "--summary", "-").Wait(p.ctx, t)
	expect.That(t, r.Code == 6 && readSummary(t, r.Stdout)["status"] == "paused", "a bounded run of a held pipeline: %s", r)
	p.does("resume", "--reason", "target is back", "--actor", "ben")
	p.finish(again...)
	s = p.state()
	expect.That(t, s.State.State == "running" && s.State.By == "ben" && s.Lag == 0, "status: %+v", s)
	wantTotals(t, p.verify(), 240, conservation.Place{Output: 240})
	expect.Equal(t, p.ordersTrail(), "paused: maintenance of the target; state_changed: target is back", "audit trail of the orders")
}
