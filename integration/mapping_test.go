package integration

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	"github.com/switchback-geo/switchback/internal/testkit/proc"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

// S4-8: the mapping is fixed in the file, and the instances still run the former one. Nothing goes back until they were restarted; what is
// said follows the group, also when a static member comes back under its name without a rebalance.
func TestMapping_S4_8_nothingGoesBackToInstancesWithAnotherOne(t *testing.T) {
	testrun.Fast(t)
	t.Parallel()
	for name, static := range map[string]bool{"static": true, "dynamic": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPipe(t, 2*time.Minute, func(s *settings) { s.Static = static }).ensure()
			p.sendInMetres(ids("metres", 20))
			first := map[string]*proc.Process{"one": p.start("one"), "two": p.start("two")}
			p.log.Tail(t, p.topics.DLQ).UntilCount(p.ctx, t, "the dead letters", 20)
			p.announced("one", "two")
			p.types(0, "consumer status", "2 instances are running")
			p.readsMetres()

			const replay = "replayer replay --all --execute --reason level+in+metres+is+read --wait"
			p.types(exitRefused, "replayer replay --all", "DIFFERENT", "one", "two")
			p.types(exitRefused, replay, "refused", "--mapping-differs")
			p.replaced(first, "one")
			p.announced("one", "two")
			p.types(exitRefused, replay, "refused", "instance one", "the same", "DIFFERENT")
			p.replaced(first, "two")
			p.announced("one", "two")
			p.types(0, replay, `"reinjected":20`)
			p.log.Tail(t, p.topics.Output).UntilCount(p.ctx, t, "the outputs", 20)
			for _, consumer := range first {
				p.stop(consumer)
			}
			p.verify()
		})
	}
}

// started is what an instance says once it is at work.
var started = regexp.MustCompile(`"msg":"consumer started"`)

// replaced lets an instance start again with the file as it is now, and waits until the group knows the new process: a static
// member keeps what its former process announced until it has joined.
func (p *pipe) replaced(running map[string]*proc.Process, name string) {
	p.t.Helper()
	line := func() string {
		for l := range strings.SplitSeq(p.announced(slices.Collect(maps.Keys(running))...), "\n") {
			if announces(l, name) {
				return l
			}
		}
		return ""
	}
	before := line()
	running[name].Signal(p.t, syscall.SIGTERM)
	if r := running[name].Wait(p.ctx, p.t); r.Code != 0 {
		p.t.Fatalf("the instance that is replaced: %s", r)
	}
	running[name] = p.start(name)
	running[name].WaitFor(p.ctx, p.t, running[name].Stderr, started)
	eventually.Until(p.ctx, p.t, "the new process in the group", func() (bool, string) {
		now := line() // it listens at another port
		return now != before, now
	})
}

// announces reports whether `consumer status` lists an instance. Its columns are as wide as the longest word asks.
func announces(told, name string) bool {
	return strings.Contains(strings.Join(strings.Fields(told), " "), "instance "+name+" at ")
}

// announced waits until the group is stable, and `consumer status` says which mapping these instances run.
func (p *pipe) announced(names ...string) string {
	p.t.Helper()
	var told string
	eventually.Until(p.ctx, p.t, "what the instances announce", func() (bool, string) {
		r := p.run("consumer", "status", "-c", p.file, "-o", "table")
		told = r.Stdout + r.Stderr
		for _, name := range names {
			if !announces(told, name) {
				return false, told
			}
		}
		return !strings.Contains(told, "unknown"), told
	})
	return told
}
