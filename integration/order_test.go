package integration

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/conservation"
	"github.com/switchback-geo/switchback/internal/testkit/misbehave"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Guarantee 5 (architecture, section 1), S3-1: what an event that waits in a tier
// does once a later one of its key has been read, by the mode of the pipeline.
func TestOrder_S3_1(t *testing.T) {
	testrun.Proof(t)
	t.Parallel()
	for mode, want := range map[string]struct {
		levels []int // of the outputs, in their order
		totals conservation.Place
	}{
		"none":        {[]int{2, 1}, conservation.Place{Output: 2}},
		"latest_wins": {[]int{2}, conservation.Place{Output: 1, Closed: 1}},
		"strict":      {[]int{1, 2}, conservation.Place{Output: 2}},
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			p := newPipe(t, time.Minute, func(s *settings) { s.Ordering = mode }).ensure()
			p.places.Script("f", misbehave.Status(503)) // the first event waits
			for level := 1; level <= 2; level++ {
				p.sendRecords(&kgo.Record{Topic: p.topics.Source, Key: []byte("f"), Value: []byte(featureAt("f", level))})
			}
			p.drain().balances(t)
			wantTotals(t, p.verify(), 2, want.totals)
			if got := p.levels(); !slices.Equal(got, want.levels) {
				t.Errorf("outputs have levels %v, want %v", got, want.levels)
			}
		})
	}
}

// S2-9, S0-6: an event that says what its key's last one said is closed as a
// duplicate; A, B, A are three changes.
func TestDuplicate_S2_9_S0_6(t *testing.T) {
	testrun.Proof(t)
	t.Parallel()
	p := newPipe(t, time.Minute).ensure()
	for _, level := range []int{1, 1, 2, 2, 2, 1} {
		p.sendRecords(&kgo.Record{Topic: p.topics.Source, Key: []byte("f"), Value: []byte(featureAt("f", level))})
	}
	s := p.drain().balances(t)
	if got := s.number(t, "duplicates"); got != 3 {
		t.Errorf("summary: %d duplicates, want 3", got)
	}
	wantTotals(t, p.verify(), 6, conservation.Place{Output: 3, Closed: 3})
	if got := p.levels(); !slices.Equal(got, []int{1, 2, 1}) {
		t.Errorf("outputs have levels %v, want 1, 2, 1", got)
	}
	t.Run("after_a_restart", func(t *testing.T) {
		p.sendRecords(&kgo.Record{Topic: p.topics.Source, Key: []byte("f"), Value: []byte(featureAt("f", 1))})
		p.drain().balances(t)
		wantTotals(t, p.verify(), 7, conservation.Place{Output: 3, Closed: 4})
	})
}

// levels are those of the outputs, in their order.
func (p *pipe) levels() []int {
	p.t.Helper()
	var out []int
	for _, r := range p.read(p.topics.Output) {
		var f struct{ Properties struct{ Level int } }
		if err := json.Unmarshal(r.Value, &f); err != nil {
			p.t.Fatal(err)
		}
		out = append(out, f.Properties.Level)
	}
	return out
}
