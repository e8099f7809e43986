package integration

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/conservation"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/misbehave"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/postgis"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

// S0-6, S3-1: an older version never takes effect after a newer one, however long after, whatever the dedupe window: over a restart,
// when its partition moves to another instance, and behind a delete.
func TestVersions_S0_6_S3_1_liveAsLongAsTheirKeys(t *testing.T) {
	beside(t, testrun.Nightly)
	for _, window := range []string{"0s", "1ms"} {
		t.Run(window, func(t *testing.T) {
			t.Parallel()
			const n = 40
			p := newPipe(t, 2*time.Minute, func(s *settings) { s.Dedupe, s.Source, s.Partitions = window, "version: properties.level", 6 }).ensure()
			all := ids("v", n)
			p.at(5, all...)
			p.drain()
			p.at(3, all...) // over a restart
			s := p.drain()
			expect.That(t, s.number(t, "superseded") == n, "after a restart: %v", s)

			output := p.log.Tail(t, p.topics.Output)
			one, two := p.start("one"), p.start("two")
			p.members(2)
			p.at(7, all...)
			output.UntilCount(p.ctx, t, "the newer versions", 2*n)
			p.stop(one) // its partitions move while the other one runs
			p.at(6, all...)
			p.at(8, all...)
			output.UntilCount(p.ctx, t, "versions that are newer still", 3*n)
			p.stop(two)

			p.deletes(all...)
			p.drain()
			p.at(7, all...)
			p.at(9, all...)
			s = p.drain()
			expect.That(t, s.number(t, "superseded") == n, "behind the deletes: %v", s)
			for id, got := range p.history() {
				expect.That(t, slices.Equal(got, []int{5, 7, 8, gone, 9}), "%s took effect as %v", id, got)
			}
			wantTotals(t, p.verify(), 8*n, conservation.Place{Output: 5 * n, Closed: 3 * n})
		})
	}
}

// S0-6: a table follows. A delete counts as newer than the newest event also when that was long ago, so it removes the row, and an
// older version does not bring it back.
func TestVersions_S0_6_aTableFollows(t *testing.T) {
	beside(t, testrun.Nightly)
	tab := withTable(t, postgis.Need(t), 2*time.Minute, func(s *settings) { s.Dedupe, s.Source, s.Partitions = "0s", "version: properties.level", 1 })
	p := tab.p
	wants := func(want ...int) {
		t.Helper()
		p.drain()
		var got []int
		for _, row := range tab.rows() {
			got = append(got, row.Level)
		}
		must.That(t, slices.Equal(got, want), "the table has levels %v, want %v", got, want)
	}
	p.at(5, "a")
	wants(5)
	p.at(4, "a")
	wants(5)
	p.deletes("a")
	wants()
	p.at(3, "a")
	wants()
	p.at(6, "a")
	wants(6)
}

// gone stands for a delete among levels.
const gone = -1

// deletes sends tombstones.
func (p *pipe) deletes(ids ...string) {
	p.t.Helper()
	records := make([]*kgo.Record, len(ids))
	for i, id := range ids {
		records[i] = &kgo.Record{Topic: p.topics.Source, Key: []byte(id)}
	}
	p.sendRecords(records...)
}

// history is what took effect, feature by feature and in its order.
func (p *pipe) history() map[string][]int {
	p.t.Helper()
	took := map[string][]int{}
	for _, r := range p.read(p.topics.Output) {
		var f struct{ Properties struct{ Level int } }
		if r.Value == nil {
			f.Properties.Level = gone
		} else if err := json.Unmarshal(r.Value, &f); err != nil {
			p.t.Fatal(err)
		}
		took[string(r.Key)] = append(took[string(r.Key)], f.Properties.Level)
	}
	return took
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
		var f struct{ Properties struct{ Level int } }
		must.Do(p.t, json.Unmarshal(r.Value, &f))
		got[string(r.Key)] = append(got[string(r.Key)], f.Properties.Level)
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

// S4-8, S3-1: consumers killed amid forced replays let each take effect once.
func TestForceVersionKilled_S4_8_S3_1(t *testing.T) {
	beside(t, testrun.Nightly, needRealKafka)
	const n, kills = 900, 4
	p := newPipe(t, 4*time.Minute, killed, func(s *settings) { s.Partitions, s.Source = 6, "version: properties.level" }).ensure()
	all := ids("k", n)
	p.overtaken(all...)
	for _, id := range all[:n/3] {
		p.places.Script(id, misbehave.Status(503))
	}
	p.replay("--execute", "--force-version")
	output := p.log.Tail(t, p.topics.Output)
	p.killAmid(output, kills, n/(kills+1), n/(4*kills))
	p.drain()
	wantTotals(t, p.verify(), 2*n, conservation.Place{Letters: n, Replays: n, Output: 2 * n})
	p.wantStates(n, "reprocessed")
	p.wantLevels(n, 5, 1)
}
