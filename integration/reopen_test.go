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
	"github.com/switchback-geo/switchback/internal/testkit/topiclog"
)

// killAfterWrites starts a replayer and kills it after it wrote this many records into the topic of the tail, committed
// or not. It reports whether the replayer was still running.
func (p *pipe) killAfterWrites(uncommitted *topiclog.Tail, records int, args ...string) bool {
	p.t.Helper()
	before := len(uncommitted.Seen())
	replayer := proc.Start(p.t, p.spec("replayer", args...))
	eventually.Until(p.ctx, p.t, fmt.Sprintf("%d further records", records), func() (bool, string) {
		select {
		case <-replayer.Done(): // the replayer may end with fewer records
			return true, ""
		default:
		}
		n := len(uncommitted.Seen()) - before
		return n >= records, fmt.Sprint(n)
	})
	return replayer.Kill()
}

// tailExisting follows a topic with its uncommitted records, and returns when it has seen the existing records.
func (p *pipe) tailExisting(topic string) *topiclog.Tail {
	p.t.Helper()
	tail := p.log.TailUncommitted(p.t, topic)
	tail.UntilCount(p.ctx, p.t, "the existing records of "+topic, len(p.read(topic)))
	return tail
}

// sendAt sends one event of each feature with this level.
func (p *pipe) sendAt(level int, ids ...string) {
	p.t.Helper()
	records := make([]*kgo.Record, len(ids))
	for i, id := range ids {
		records[i] = &kgo.Record{Topic: p.topics.Source, Key: []byte(id), Value: []byte(featureAt(id, level))}
	}
	p.sendRecords(records...)
}

// makeOvertaken creates a dead letter of each feature's first event, and delivers a newer event. It produces 2n inputs.
func (p *pipe) makeOvertaken(ids ...string) {
	p.t.Helper()
	p.places.Default(misbehave.Status(404))
	p.sendAt(1, ids...)
	p.drain()
	p.places.Default(misbehave.OK())
	p.sendAt(5, ids...)
	p.drain().wantBalanced(p.t)
	wantTotals(p.t, p.verify(), 2*len(ids), conservation.Place{DeadLetters: len(ids), Output: len(ids)})
}

// wantLevels checks which levels took effect for each feature, in their order.
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

// S4-8, architecture section 3: a dead letter that newer data has overtaken takes effect when an operator forces it, at
// once or after a wait in a tier. It loses to even newer events.
func TestForceVersion_S4_8(t *testing.T) {
	parallel(t, testrun.Fast)
	for name, c := range map[string]struct {
		source  string
		between []int // outputs of an event between the dead letter and the newest event
	}{
		"by_offset": {"", []int{3}}, // its offset is higher, so it is newer
		"by_field":  {"version: properties.level", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const n = 12
			p := newPipe(t, 2*time.Minute, func(s *settings) { s.Source = c.source }).ensure()
			all := ids("f", n)
			p.makeOvertaken(all...)
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
			wantTotals(t, p.verify(), 2*n, conservation.Place{DeadLetters: n, Replays: n, Output: 2 * n})
			p.wantStates(n, "reprocessed")
			p.wantLevels(n, 5, 1)
			for _, id := range all {
				events := p.auditEvents(id)
				last := events[len(events)-2]
				expect.That(t, last.Decision == "delivered" && last.Reason == "forced_over_newer", "%s: the audit event of the forced delivery is %+v", id, last)
			}
			p.sendAt(3, all...)
			p.drain().wantBalanced(t)
			p.sendAt(6, all...)
			p.drain().wantBalanced(t)
			p.wantLevels(n, append(append([]int{5, 1}, c.between...), 6)...)
			p.runConsumer("verify", "audit")
		})
	}
}

// makeSuperseded creates a dead letter of each feature's first event, and replays it after a newer event was delivered,
// so the consumer closes it as superseded. It produces 2n inputs.
func (p *pipe) makeSuperseded(ids ...string) {
	p.t.Helper()
	n := len(ids)
	p.makeOvertaken(ids...)
	p.replay("--execute")
	p.drain()
	wantTotals(p.t, p.verify(), 2*n, conservation.Place{DeadLetters: n, Replays: n, Closed: n, Output: n})
	p.wantStates(n, "superseded")
}

// reopenArgs returns the arguments that reopen superseded dead letters.
func (p *pipe) reopenArgs(args ...string) []string {
	return append([]string{"reopen", "-c", p.file, "--status", "superseded", "--reason", "the first survey was right"}, args...)
}

// wantReplayer runs a replayer command and checks its exit code and a text on stderr.
func (p *pipe) wantReplayer(code int, words string, args ...string) {
	p.t.Helper()
	r := p.run("replayer", args...)
	expect.That(p.t, r.Code == code && strings.Contains(r.Stderr, words), "replayer %s: exit code %d, want %d; on the standard error: %s; want %q", args[0], r.Code, code, r.Stderr, words)
}

// S4-8: a superseded dead letter takes effect once an operator reopens it and forces its replay, and not before. The
// output of each command names the next one.
func TestReopenSuperseded_S4_8(t *testing.T) {
	parallel(t, testrun.Fast)
	for name, source := range map[string]string{"by_offset": "", "by_field": "version: properties.level"} {
		t.Run(name, func(t *testing.T) {
			if source == "" {
				testrun.Nightly(t)
			}
			t.Parallel()
			const n = 6
			p := newPipe(t, 2*time.Minute, func(s *settings) { s.Source = source }).ensure()
			all := ids("f", n)
			p.makeSuperseded(all...)
			file := filepath.Join(t.TempDir(), "forced.jsonl")
			plan := []string{"plan", "-c", p.file, "-f", file}
			p.wantReplayer(exitNothing, fmt.Sprintf("replayer reopen -c %s --status superseded --execute --reason 'why'", p.file), plan...)
			p.wantReplayer(exitRefused, "Dry run: nothing was changed", p.reopenArgs()...)
			p.wantStates(n, "superseded")
			p.wantReplayer(0, "a plain replay closes them once more. To let the older version win:\n  replayer plan -c "+p.file+" --id ", p.reopenArgs("--execute")...)
			p.wantStates(n, "pending")

			p.replay("--execute") // not forced
			p.drain()
			p.wantStates(n, "superseded")
			p.wantLevels(n, 5)

			p.wantReplayer(0, "--force-version", p.reopenArgs("--execute")...)
			p.wantReplayer(0, "--plan", append(plan, "--force-version", "--reason", "the first survey was right")...)
			apply := []string{"replay", "--plan", file, "-c", p.file, "--force-version", "--execute", "--reason", "agreed"}
			p.wantReplayer(0, "will overwrite newer data: 6, forced", apply...)
			p.drain()
			p.wantStates(n, "reprocessed")
			p.wantLevels(n, 5, 1)
			wantTotals(t, p.verify(), 2*n, conservation.Place{DeadLetters: n, Replays: 3 * n, Closed: 2 * n, Output: 2 * n})
			p.wantReplayer(0, "", apply...) // once more
			p.drain()
			p.wantLevels(n, 5, 1)
			p.wantReplayer(exitNothing, "no dead letter", p.reopenArgs("--execute")...)
			p.runConsumer("verify", "audit")
		})
	}
}

// S4-8, S3-1: an operator's machine dies while dead letters are reopened or forced, and the operator repeats both
// commands. Each dead letter is reopened once and takes effect once.
func TestReopenKilled_S4_8_S3_1(t *testing.T) {
	parallel(t, testrun.Nightly, needRealKafka)
	const n, kills = 3000, 3
	random := rand.New(rand.NewPCG(testrun.Seed(t), 0))
	p := newPipe(t, 5*time.Minute, func(s *settings) { s.Partitions, s.Source = 6, "version: properties.level" }).ensure()
	p.makeSuperseded(ids("k", n)...)
	states := p.tailExisting(p.statusTopic)
	for range kills {
		reopen := p.reopenArgs("--execute")
		p.killAfterWrites(states, 1+random.IntN(n/2), append(reopen, p.consentFlags(reopen)...)...)
	}
	r := p.run("replayer", append(p.reopenArgs("--execute"), p.consentFlags(p.reopenArgs())...)...)
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
	p.wantReplayer(0, "--plan", "plan", "-c", p.file, "-f", file, "--force-version", "--reason", "the first survey was right")
	apply := []string{"replay", "--plan", file, "-c", p.file, "--force-version", "--execute", "--reason", "agreed"}
	hit, source := 0, p.tailExisting(p.topics.Source)
	for range kills {
		if p.killAfterWrites(source, 1+random.IntN(300), append(apply, "--rate", "1500/s")...) {
			hit++
		}
	}
	expect.That(t, hit != 0, "none of %d kills hit a running replayer", kills)
	p.wantReplayer(0, "", apply...)
	p.drain()
	wantTotals(t, p.verify(), 2*n, conservation.Place{DeadLetters: n, Replays: 2 * n, Closed: n, Output: 2 * n})
	p.wantStates(n, "reprocessed")
	p.wantLevels(n, 5, 1)
	p.runConsumer("verify", "audit")
}

// reopenings returns the dead letters that were reopened according to the audit trail, with repetitions.
func (p *pipe) reopenings() []string {
	p.t.Helper()
	var out []string
	for _, r := range p.read(p.topics.Audit) {
		var e struct {
			DeadLetter string `json:"dead_letter"`
			Message    string
		}
		must.Do(p.t, json.Unmarshal(r.Value, &e))
		if strings.Contains(e.Message, "superseded -> pending") {
			out = append(out, e.DeadLetter)
		}
	}
	return out
}
