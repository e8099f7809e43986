package integration

import (
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/acls"
	"github.com/switchback-geo/switchback/internal/testkit/proc"
)

// S4-15: with exactly what `topics acls` prints, ensure and check work; without one of them the command says which.
func TestACLs_S4_15_topicsEnsureAndCheck(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	needed := g.printed("consumer", "topics", "acls", "--for", "topics")
	g.allow(needed...)
	g.works("consumer", "topics", "ensure")
	for _, p := range needed {
		command := "check"
		if p.operation == acls.Create {
			command = "ensure"
			if err := g.log.Delete(g.ctx, p.name); err != nil {
				t.Fatal(err)
			}
		}
		g.deny(p)
		g.refused(p, "consumer", "topics", command)
		g.allow(p)
	}
	g.works("consumer", "topics", "ensure")
	g.works("consumer", "topics", "check")
}

// S4-15: the same for orders and the status.
func TestACLs_S4_15_ordersAndStatus(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	g.topicsOfAnother()
	needed := g.printed("consumer", "topics", "acls", "--for", "control")
	g.allow(needed...)
	for _, p := range needed {
		g.deny(p)
		g.refused(p, "consumer", "pause", "--reason", "test")
		g.allow(p)
	}
	g.works("consumer", "pause", "--reason", "test")
	g.works("consumer", "resume", "--reason", "test")
	g.deny(needed...)
	needed = g.printed("consumer", "topics", "acls", "--for", "status")
	g.allow(needed...)
	g.works("consumer", "status")
	g.works("consumer", "status", "--verify")
	for _, p := range needed {
		args := []string{"status"}
		if p.name == g.topics.Audit {
			args = append(args, "--verify")
		}
		g.deny(p)
		g.refused(p, "consumer", args...)
		g.allow(p)
	}
}

// topicsOfAnother creates the topics as somebody who may do everything.
func (g *guarded) topicsOfAnother() {
	g.t.Helper()
	spec := g.specOf("consumer", "topics", "ensure")
	spec.Env = []string{"SWITCHBACK_KAFKA_BROKERS=" + g.log.Addrs()[0]}
	if r := proc.Run(g.ctx, g.t, spec); r.Code != 0 {
		g.t.Fatalf("topics ensure: %s", r)
	}
}

// refused wants a command to fail and to name what is missing.
func (g *guarded) refused(p permission, name string, args ...string) {
	g.t.Helper()
	r := g.command(name, args...)
	if r.Code != 1 || !p.words(r.Stderr) || !strings.Contains(r.Stderr, "acls` prints what is needed") {
		g.t.Errorf("without %s, %s %s: %s", p, name, strings.Join(args, " "), r)
	}
}

// works wants a command to end well.
func (g *guarded) works(name string, args ...string) proc.Result {
	g.t.Helper()
	r := g.command(name, args...)
	if r.Code != 0 {
		g.t.Fatalf("%s %s: %s", name, strings.Join(args, " "), r)
	}
	return r
}
