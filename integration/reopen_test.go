package integration

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/conservation"
	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/misbehave"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/proc"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

// closed makes a letter of each feature's first event that the consumer closes as superseded, since a newer event took
// effect. It ends with 2n inputs.
func (p *pipe) closed(ids ...string) {
	p.t.Helper()
	n := len(ids)
	p.overtaken(ids...)
	p.replay("--execute")
	p.drain()
	wantTotals(p.t, p.verify(), 2*n, conservation.Place{Letters: n, Replays: n, Closed: n, Output: n})
	p.wantStates(n, "superseded")
}

// reopen is the command line that takes back what the consumer closed as superseded.
func (p *pipe) reopen(args ...string) []string {
	return append([]string{"reopen", "-c", p.file, "--status", "superseded", "--reason", "the first survey was right"}, args...)
}

// wants runs a replayer's command and wants an exit code, and words on the standard error.
func (p *pipe) wants(code int, words string, args ...string) {
	p.t.Helper()
	r := p.run("replayer", args...)
	expect.That(p.t, r.Code == code && strings.Contains(r.Stderr, words), "replayer %s: exit code %d, want %d; on the standard error: %s; want %q", args[0], r.Code, code, r.Stderr, words)
}

// S4-8: a letter that was closed as superseded takes effect once an operator reopens it and forces its replay, and not
// before. The words of each command lead to the next.
func TestReopenSuperseded_S4_8(t *testing.T) {
	beside(t, testrun.Fast)
	for name, source := range map[string]string{"by_offset": "", "by_field": "version: properties.level"} {
		t.Run(name, func(t *testing.T) {
			if source == "" {
				testrun.Nightly(t)
			}
			t.Parallel()
			const n = 6
			p := newPipe(t, 2*time.Minute, func(s *settings) { s.Source = source }).ensure()
			all := ids("f", n)
			p.closed(all...)
			file := filepath.Join(t.TempDir(), "forced.jsonl")
			plan := []string{"plan", "-c", p.file, "-f", file}
			p.wants(exitNothing, fmt.Sprintf("replayer reopen -c %s --status superseded --execute --reason 'why'", p.file), plan...)
			p.wants(exitRefused, "Dry run: nothing was changed", p.reopen()...)
			p.wantStates(n, "superseded")
			p.wants(0, "a plain replay closes them once more. To let the older version win:\n  replayer plan -c "+p.file+" --id ", p.reopen("--execute")...)
			p.wantStates(n, "pending")

			p.replay("--execute") // not forced
			p.drain()
			p.wantStates(n, "superseded")
			p.wantLevels(n, 5)

			p.wants(0, "--force-version", p.reopen("--execute")...)
			p.wants(0, "--plan", append(plan, "--force-version", "--reason", "the first survey was right")...)
			apply := []string{"replay", "--plan", file, "-c", p.file, "--force-version", "--execute", "--reason", "agreed"}
			p.wants(0, "will overwrite newer data: 6, forced", apply...)
			p.drain()
			p.wantStates(n, "reprocessed")
			p.wantLevels(n, 5, 1)
			wantTotals(t, p.verify(), 2*n, conservation.Place{Letters: n, Replays: 3 * n, Closed: 2 * n, Output: 2 * n})
			p.wants(0, "", apply...) // once more
			p.drain()
			p.wantLevels(n, 5, 1)
			p.wants(exitNothing, "no dead letter", p.reopen("--execute")...)
			p.does("verify", "audit")
		})
	}
}

// S4-8, S3-1: an operator whose machine dies while letters are reopened, or put back by force, gives both commands again:
// each letter is reopened, and takes effect, once.
func TestReopenKilled_S4_8_S3_1(t *testing.T) {
	beside(t, testrun.Nightly, needRealKafka)
	const n, kills = 3000, 3
	random := rand.New(rand.NewPCG(testrun.Seed(t), 0))
	p := newPipe(t, 5*time.Minute, func(s *settings) { s.Partitions, s.Source = 6, "version: properties.level" }).ensure()
	p.closed(ids("k", n)...)
	for range kills {
		reopen := p.reopen("--execute")
		p.killWriting("reopened dead letters", p.status, 1+random.IntN(n/2), append(reopen, p.consent(reopen)...)...)
	}
	r := p.run("replayer", append(p.reopen("--execute"), p.consent(p.reopen())...)...)
	must.That(t, r.Code == 0 || r.Code == exitNothing, "reopen after %d kills: %s", kills, r)
	p.wantStates(n, "pending")
	reopened := map[string]int{}
	for _, id := range p.reopenings() {
		reopened[id]++
	}
	for id, times := range reopened {
		expect.That(t, times == 1, "dead letter %s was reopened %d times", id, times)
	}
	expect.That(t, len(reopened) == n, "the audit trail has %d reopened dead letters, want %d", len(reopened), n)

	file := filepath.Join(t.TempDir(), "forced.jsonl")
	p.wants(0, "--plan", "plan", "-c", p.file, "-f", file, "--force-version", "--reason", "the first survey was right")
	apply := []string{"replay", "--plan", file, "-c", p.file, "--force-version", "--execute", "--reason", "agreed"}
	hit := 0
	for range kills {
		if p.killWriting("dead letters put back", p.topics.Source, 1+random.IntN(300), append(apply, "--rate", "1500/s")...) {
			hit++
		}
	}
	expect.That(t, hit != 0, "none of %d kills met a running replayer", kills)
	p.wants(0, "", apply...)
	p.drain()
	wantTotals(t, p.verify(), 2*n, conservation.Place{Letters: n, Replays: 2 * n, Closed: n, Output: 2 * n})
	p.wantStates(n, "reprocessed")
	p.wantLevels(n, 5, 1)
	p.does("verify", "audit")
}

// reopenings are the letters that the audit trail says were reopened, as often as it says so.
func (p *pipe) reopenings() []string {
	p.t.Helper()
	var out []string
	for _, r := range p.read(p.topics.Audit) {
		var e struct{ Letter, Message string }
		must.Do(p.t, json.Unmarshal(r.Value, &e))
		if strings.Contains(e.Message, "superseded -> pending") {
			out = append(out, e.Letter)
		}
	}
	return out
}

// killWriting starts a replayer and kills it once it wrote so many records into a topic, committed or not. It reports
// whether it was still running.
func (p *pipe) killWriting(what, topic string, at int, args ...string) bool {
	p.t.Helper()
	uncommitted := p.log.TailUncommitted(p.t, topic)
	before := len(uncommitted.UntilCount(p.ctx, p.t, "what lies in "+topic, len(p.read(topic))))
	replayer := proc.Start(p.t, p.spec("replayer", args...))
	eventually.Until(p.ctx, p.t, fmt.Sprintf("%d %s", at, what), func() (bool, string) {
		select {
		case <-replayer.Done(): // it may end with fewer, and no further record would tell
			return true, ""
		default:
		}
		n := len(uncommitted.Seen()) - before
		return n >= at, fmt.Sprint(n)
	})
	return replayer.Kill()
}

// at sends one event of each feature.
func (p *pipe) at(level int, ids ...string) {
	p.t.Helper()
	records := make([]*kgo.Record, len(ids))
	for i, id := range ids {
		records[i] = &kgo.Record{Topic: p.topics.Source, Key: []byte(id), Value: []byte(featureAt(id, level))}
	}
	p.sendRecords(records...)
}

// overtaken makes a dead letter of each feature's first event, and delivers a newer one. It ends with 2n inputs.
func (p *pipe) overtaken(ids ...string) {
	p.t.Helper()
	p.places.Default(misbehave.Status(404))
	p.at(1, ids...)
	p.drain()
	p.places.Default(misbehave.OK())
	p.at(5, ids...)
	p.drain().balances(p.t)
	wantTotals(p.t, p.verify(), 2*len(ids), conservation.Place{Letters: len(ids), Output: len(ids)})
}

// wantLevels holds what took effect, feature by feature and in its order, against what is wanted of each.
func (p *pipe) wantLevels(n int, want ...int) {
	p.t.Helper()
	got := map[string][]int{}
	for _, r := range p.read(p.topics.Output) {
		got[string(r.Key)] = append(got[string(r.Key)], levelOf(p.t, r))
	}
	for id, levels := range got {
		expect.That(p.t, slices.Equal(levels, want), "%s took effect with levels %v, want %v", id, levels, want)
	}
	expect.That(p.t, len(got) == n, "%d features took effect, want %d", len(got), n)
}

// S4-8, architecture section 3: a letter that newer data has overtaken takes effect when an operator forces it, whether at
// once or after a wait in a tier, and loses to what is newer still.
func TestForceVersion_S4_8(t *testing.T) {
	beside(t, testrun.Fast)
	for name, c := range map[string]struct {
		source  string
		between []int // what took effect of an event between the letter and the newest one
	}{
		"by_offset": {"", []int{3}}, // it comes last, so it is the newest
		"by_field":  {"version: properties.level", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const n = 12
			p := newPipe(t, 2*time.Minute, func(s *settings) { s.Source = c.source }).ensure()
			all := ids("f", n)
			p.overtaken(all...)
			force := []string{"replay", "-c", p.file, "--force-version"}
			r := p.run("replayer", force...)
			expect.That(t, r.Code == 2 && strings.Contains(r.Stderr, "--reason"), "without a reason: %s", r)
			r = p.run("replayer", append(force, "--reason", "it was right")...)
			expect.That(t, r.Code == exitRefused && strings.Contains(r.Stderr, fmt.Sprintf("will overwrite newer data: %d, forced", n)), "dry run: %s", r)
			for _, id := range all[:n/2] {
				p.places.Script(id, misbehave.Times(2, misbehave.Status(503))...) // these wait in tiers
			}
			p.replay("--execute", "--force-version")
			p.drain()
			wantTotals(t, p.verify(), 2*n, conservation.Place{Letters: n, Replays: n, Output: 2 * n})
			p.wantStates(n, "reprocessed")
			p.wantLevels(n, 5, 1)
			for _, id := range all {
				events := p.audited(id)
				last := events[len(events)-2]
				expect.That(t, last.Decision == "delivered" && last.Reason == "forced_over_newer", "%s: the audit event of the forced delivery is %+v", id, last)
			}
			p.at(3, all...)
			p.drain().balances(t)
			p.at(6, all...)
			p.drain().balances(t)
			p.wantLevels(n, append(append([]int{5, 1}, c.between...), 6)...)
			p.does("verify", "audit")
		})
	}
}
