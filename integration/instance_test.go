//go:build linux

package integration

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/conservation"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/proc"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

// unnamed starts a consumer that nobody gave a name.
func (p *pipe) unnamed() *proc.Process {
	p.t.Helper()
	return proc.Start(p.t, p.spec("consumer", "run", "-c", p.file))
}

// names lists the instances in the group, in alphabetical order.
func (p *pipe) names() []string {
	p.t.Helper()
	groups := must.Get(p.log.Admin().DescribeGroups(p.ctx, p.topics.Group))(p.t)
	var names []string
	for _, m := range groups[p.topics.Group].Members {
		if m.InstanceID != nil {
			names = append(names, *m.InstanceID)
		}
	}
	slices.Sort(names)
	return names
}

// S3-1: a second consumer of the same file on the same host works beside the first, which never notices. One that is killed
// comes back under its own name.
func TestInstances_S3_1_twoOfOneHost(t *testing.T) {
	beside(t, testrun.Nightly, needRealKafka)
	p := newPipe(t, 2*time.Minute, func(s *settings) { s.Partitions = 4 }).ensure()
	host := must.Get(os.Hostname())(t)
	output := p.log.Tail(t, p.topics.Output)
	both := []string{host, host + "-2"}
	const n = 1500

	first := p.unnamed()
	p.members(1)
	second := p.unnamed()
	p.members(2)
	got := p.names()
	expect.That(t, slices.Equal(got, both), "the group has %v, want %v", got, both)
	p.send(ids("a", n)...)
	output.UntilCount(p.ctx, t, "results of two", n)
	if !first.Kill() {
		t.Fatalf("the first consumer ended by itself: %s", first.Stderr.Tail(2000))
	}
	again := p.unnamed()
	again.WaitFor(p.ctx, t, again.Stderr, regexp.MustCompile(`"?msg"?[=:]"consumer started"`))
	p.send(ids("b", n)...)
	output.UntilCount(p.ctx, t, "results of one that came back and one that stayed", 2*n)
	p.members(2)
	got = p.names()
	expect.That(t, slices.Equal(got, both), "after a kill the group has %v, want %v", got, both)
	p.stop(second)
	p.stop(again)
	for name, c := range map[string]*proc.Process{"first": first, "second": second, "again": again} {
		log := c.Stderr.String()
		expect.That(t, !strings.Contains(log, "FENCED") && !strings.Contains(log, "session ended"), "the %s consumer was fenced: %s", name, log)
	}
	wantTotals(t, p.verify(), 2*n, conservation.Place{Output: 2 * n})
}
