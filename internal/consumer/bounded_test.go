package consumer

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// S4-13: a line for each so many records, and one for the rest; nothing is told twice.
func TestRunLog_S4_13_tellsCountsPerBatch(t *testing.T) {
	var out bytes.Buffer
	l := &runLog{log: slog.New(slog.NewJSONHandler(&out, nil)), every: 100, began: time.Now(), tolerated: 0.2}
	for _, s := range []Summary{
		{Consumed: 40, Delivered: 40}, {Consumed: 130, Delivered: 120, DeadLettered: 10}, {Consumed: 150, Delivered: 135, DeadLettered: 15},
	} {
		l.tell(s, false)
	}
	l.tell(Summary{Consumed: 150, Delivered: 135, DeadLettered: 15}, true)
	l.tell(Summary{Consumed: 150, Delivered: 135, DeadLettered: 15}, true)
	l.tell(Summary{Consumed: 150, Delivered: 136, DeadLettered: 16}, true) // two more, from the tiers
	var got []map[string]any
	for line := range strings.Lines(out.String()) {
		var m map[string]any
		must.Do(t, json.Unmarshal([]byte(line), &m))
		got = append(got, m)
	}
	must.That(t, len(got) == 3, "lines: %s", out.String())
	for i, want := range []map[string]float64{
		{"batch": 1, "consumed": 130, "delivered": 120, "dead_lettered": 10, "consumed_total": 130, "dlq_rate_tolerated": 0.2},
		{"batch": 2, "consumed": 20, "delivered": 15, "dead_lettered": 5, "consumed_total": 150, "dead_lettered_total": 15, "dlq_rate": 0.1},
		{"batch": 3, "consumed": 0, "delivered": 1, "dead_lettered": 1, "consumed_total": 150, "dead_lettered_total": 16},
	} {
		for key, value := range want {
			expect.That(t, got[i][key] == value, "line %d: %s is %v, want %v", i+1, key, got[i][key], value)
		}
	}
}

func TestLimits_S4_12(t *testing.T) {
	t.Parallel()
	rate := 0.05
	for name, c := range map[string]struct {
		limits Limits
		run    Summary
		want   []string
	}{
		"none":                      {Limits{}, Summary{DLQRate: 1}, nil},
		"within":                    {Limits{MaxDLQRate: &rate}, Summary{DLQRate: 0.05}, nil},
		"beyond, of few records":    {Limits{MaxDLQRate: &rate}, Summary{Consumed: 10, DeadLettered: 1, DLQRate: 0.1}, []string{"1 of 10 records", "0.05"}},
		"late":                      {Limits{SLA: time.Minute}, Summary{SLAMissed: true, SLASeconds: 60, DurationSeconds: 61}, []string{"61.0 s", "60 s"}},
		"a quarantined batch":       {Limits{}, Summary{QuarantinedBatches: []string{"b-17"}, Consumed: 100, DeadLettered: 96}, []string{"quarantined: batch b-17", "96 of 100 records", "--allow-quarantine"}},
		"many of them":              {Limits{}, Summary{QuarantinedBatches: []string{"a", "b", "c", "d", "e", "f"}}, []string{"6 batches (a, b, c, d, e, …)"}},
		"quarantine is allowed":     {Limits{AllowQuarantine: true}, Summary{QuarantinedBatches: []string{"b-17"}}, nil},
		"too many and late as well": {Limits{MaxDLQRate: &rate}, Summary{DLQRate: 1, SLAMissed: true}, []string{"dead letters", "service level"}},
	} {
		t.Run(name, func(t *testing.T) {
			exceeded := c.limits.exceeded(c.run, 1)
			must.That(t, (exceeded != nil) == (c.want != nil), "got %v", exceeded)
			said := (&LimitError{exceeded}).Error()
			for _, part := range c.want {
				expect.That(t, strings.Contains(said, part), "no word of %q in: %s", part, said)
			}
		})
	}
	waited := Summary{Delivered: 3, DeadLettered: 1} // all of them waited in a tier when the run began
	waited.DLQRate = waited.dlqRate()
	expect.That(t, waited.DLQRate == 0.25, "one of four is dead: %v", waited.DLQRate)
	if said := (Limits{MaxDLQRate: &rate}).exceeded(waited, 1); len(said) != 1 || !strings.Contains(said[0], "1 of 4 records") {
		t.Errorf("nothing taken from the source, one dead letter: %v", said)
	}
	for dead, tolerated := range map[int64]float64{50: 0.2, 11: 0.2, 1: 0} { // without a limit of its own, a run has the tolerance of the file
		s := Summary{Consumed: 50, DeadLettered: dead}
		s.DLQRate = s.dlqRate()
		said := (Limits{}).exceeded(s, tolerated)
		expect.That(t, len(said) == 1 && strings.Contains(said[0], "max_dead_letter_rate"), "%d of 50 dead, %v tolerated: %v", dead, tolerated, said)
		for _, own := range []Limits{{MaxDLQRate: new(float64)}, {}} {
			limit := 1.0
			if own.MaxDLQRate != nil {
				*own.MaxDLQRate = 1
				limit = 0
			}
			said := own.exceeded(s, limit)
			expect.That(t, said == nil, "%d of 50 dead, and 1 is accepted: %v", dead, said)
		}
	}
	if said := (Limits{}).exceeded(Summary{Consumed: 50, DeadLettered: 10, DLQRate: 0.2}, 0.2); said != nil {
		t.Errorf("just tolerated: %v", said)
	}
	cfg := parse(t, "")
	got := (Limits{MaxDLQRate: &rate}).apply(cfg)
	expect.That(t, got.Pipeline.Tolerance.MaxDeadLetterRate == rate && cfg.Pipeline.Tolerance.MaxDeadLetterRate != rate, "the limit of a run must stand in place of the file's, for this run only")
}
