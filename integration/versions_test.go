package integration

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/conservation"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/postgis"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

// S0-6, S3-1: an older version never takes effect after a newer one, however long after, whatever the dedupe window: over a restart,
// when its partition moves to another instance, and behind a delete.
func TestVersions_S0_6_S3_1_liveAsLongAsTheirKeys(t *testing.T) {
	testrun.Nightly(t)
	t.Parallel()
	for _, window := range []string{"0s", "1ms"} {
		t.Run(window, func(t *testing.T) {
			t.Parallel()
			const n = 40
			p := newPipe(t, 2*time.Minute, func(s *settings) { s.Dedupe, s.Source, s.Partitions = window, "version: properties.level", 6 }).ensure()
			all := ids("v", n)
			p.at(5, all...)
			p.drain()
			p.at(3, all...) // over a restart
			if s := p.drain(); s.number(t, "superseded") != n {
				t.Errorf("after a restart: %v", s)
			}

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
			if s := p.drain(); s.number(t, "superseded") != n {
				t.Errorf("behind the deletes: %v", s)
			}
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
	testrun.Nightly(t)
	t.Parallel()
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
