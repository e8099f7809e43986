package replay

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// verify holds the operators' chain in both partitions of the audit topic against its heads.
func (w *world) verify() []audit.Report {
	w.t.Helper()
	client := w.service().client
	reports := must.Get(audit.Verify(w.ctx(), client, "features.audit", nil, func(ctx context.Context) (audit.Heads, error) {
		heads, err := deadletters.ChainHeads(ctx, client, "features.dlq-status")
		return audit.Heads{audit.Operators: heads}, err
	}))(w.t)
	return reports
}

// acted leaves the trail of some work: three operations of several transactions, beside a consumer's events.
func acted(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.dieMany(batchLetters + 20)
	w.execute(w.service(), w.plan(w.service(), deadletters.Filter{Limit: batchLetters + 10}))
	consumers := must.Get(audit.Event{Time: start, Pipeline: "features", Source: "features/0/1", FeatureID: "mill", Key: []byte("mill-key"), Decision: audit.Retried, RunID: "c"}.Record("features.audit", 0))(t)
	w.die(consumers)
	w.change(Discard, deadletters.Filter{})
	w.change(Reopen, deadletters.Filter{})
	return w
}

func TestVerify_S0_11_finds_what_was_tampered_with(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tamper func(records []*kgo.Record) []*kgo.Record
		says   string
	}{
		"reason changed": {func(r []*kgo.Record) []*kgo.Record {
			r[3].Value = bytes.Replace(r[3].Value, []byte(`"reason":"fixed"`), []byte(`"reason":"asked"`), 1)
			return r
		}, "was changed"},
		"event removed":      {func(r []*kgo.Record) []*kgo.Record { return append(r[:5:5], r[6:]...) }, "follows entry"},
		"last event removed": {func(r []*kgo.Record) []*kgo.Record { return r[:len(r)-1] }, "it ends with entry"},
	} {
		t.Run(name, func(t *testing.T) {
			w := acted(t)
			var mine []*kgo.Record
			for _, r := range w.read("features.audit") {
				if r.Partition == 1 {
					mine = append(mine, &kgo.Record{Topic: r.Topic, Partition: 1, Key: r.Key, Value: r.Value})
				}
			}
			ends := must.Get(w.log.Admin().ListEndOffsets(w.ctx(), "features.audit"))(t)
			end, _ := ends.Lookup("features.audit", 1)
			must.Do(t, w.broker.DeleteRecords("features.audit", 1, end.Offset))
			if forged := c.tamper(mine); len(forged) > 0 {
				w.die(forged...)
			}
			reports := w.verify()
			if reports[0].Fault != "" || !strings.Contains(reports[1].Fault, c.says) {
				t.Errorf("%+v, want %q", reports, c.says)
			}
		})
	}
}

func TestTrail_selects_events(t *testing.T) {
	t.Parallel()
	w := acted(t)
	count := func(f TrailFilter) int {
		n := 0
		must.Do(t, w.service().Trail(w.ctx(), f, func(audit.Event) error { n++; return nil }))
		return n
	}
	for name, c := range map[string]struct {
		filter TrailFilter
		want   int
	}{
		"operators":   {TrailFilter{}, batchLetters + 33},
		"all":         {TrailFilter{All: true}, batchLetters + 34},
		"replay":      {TrailFilter{Operation: "r1"}, batchLetters + 11},
		"letter":      {TrailFilter{Letter: "letter-0"}, 1},
		"its record":  {TrailFilter{Letter: "0-1-0123abcd"}, 1}, // a retry from before its death, which names no letter
		"of another":  {TrailFilter{Letter: "0-2-0123abcd"}, 0},
		"feature":     {TrailFilter{Feature: "mill"}, 1},
		"source":      {TrailFilter{Source: "features/0/1"}, 1},
		"key":         {TrailFilter{Key: []byte("mill-key")}, 1},
		"other key":   {TrailFilter{Key: []byte("mill")}, 0},
		"somebody":    {TrailFilter{By: "bo"}, 0},
		"operations":  {TrailFilter{Decisions: []audit.Decision{audit.Operation}}, 3},
		"later":       {TrailFilter{Since: time.Now().Add(time.Hour)}, 0},
		"as a whole":  {TrailFilter{Since: start}, batchLetters + 33},
		"consumer's":  {TrailFilter{All: true, Decisions: []audit.Decision{audit.Retried}}, 1},
		"no operator": {TrailFilter{Decisions: []audit.Decision{audit.Retried}}, 0},
	} {
		if got := count(c.filter); got != c.want {
			t.Errorf("%s: %d events, want %d", name, got, c.want)
		}
	}
}
