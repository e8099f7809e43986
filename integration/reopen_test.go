package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/conservation"
	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/misbehave"
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
