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
	"github.com/switchback-geo/switchback/internal/testkit/misbehave"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

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
		if err := json.Unmarshal(r.Value, &f); err != nil {
			p.t.Fatal(err)
		}
		got[string(r.Key)] = append(got[string(r.Key)], f.Properties.Level)
	}
	for id, levels := range got {
		if !slices.Equal(levels, want) {
			p.t.Errorf("%s took effect with levels %v, want %v", id, levels, want)
		}
	}
	if len(got) != n {
		p.t.Errorf("%d features took effect, want %d", len(got), n)
	}
}

// S4-8, architecture section 3: a letter that newer data has overtaken takes effect when an operator forces it, whether at
// once or after a wait in a tier, and loses to what is newer still.
func TestForceVersion_S4_8(t *testing.T) {
	testrun.Fast(t)
	t.Parallel()
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
			if r := p.run("replayer", force...); r.Code != 2 || !strings.Contains(r.Stderr, "--reason") {
				t.Errorf("without a reason: %s", r)
			}
			if r := p.run("replayer", append(force, "--reason", "it was right")...); r.Code != exitRefused || !strings.Contains(r.Stderr, fmt.Sprintf("will overwrite newer data: %d, forced", n)) {
				t.Errorf("dry run: %s", r)
			}
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
				if last := events[len(events)-2]; last.Decision != "delivered" || last.Reason != "forced_over_newer" {
					t.Errorf("%s: the audit event of the forced delivery is %+v", id, last)
				}
			}
			p.at(3, all...)
			p.drain().balances(t)
			p.at(6, all...)
			p.drain().balances(t)
			p.wantLevels(n, append(append([]int{5, 1}, c.between...), 6)...)
			if r := p.run("consumer", "verify", "audit", "-c", p.file); r.Code != 0 {
				t.Errorf("the audit trail: %s", r)
			}
		})
	}
}

// S4-8, S3-1: consumers killed amid forced replays let each take effect once.
func TestForceVersionKilled_S4_8_S3_1(t *testing.T) {
	testrun.Nightly(t)
	t.Parallel()
	needRealKafka(t)
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
