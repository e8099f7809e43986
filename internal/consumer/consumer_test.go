package consumer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/telemetry"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

func parse(t *testing.T, rest string) *config.Config { return parsed(t, "", rest) }

func parseTolerance(t *testing.T, keys string) *config.Config { return parsed(t, ", "+keys, "") }

func parsed(t *testing.T, tolerance, rest string) *config.Config {
	t.Helper()
	cfg := must.Get(config.Parse("test.yaml", []byte(`pipeline:
  id: parcels
  retry_policy: { max_attempts: 5, base_delay_seconds: 2.0, retryable_status_codes: [429, 503] }
  tolerance: { max_null_rate: 1, halt_on_geometry_invalid: false`+tolerance+` }
`+rest), nil))(t)
	return cfg
}

func event(outcome policy.Outcome, attempt int, control header.Control) *retrytopics.Event {
	at := header.Position{Topic: "parcels", Partition: 2, Offset: 7}
	e := &retrytopics.Event{
		Record:   &retrytopics.Record{Position: at, Source: at, Key: []byte("k"), Attempt: attempt, Control: &control},
		Decision: policy.Decision{Outcome: outcome, Reason: policy.ReasonHandled},
		At:       time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC),
	}
	if outcome == policy.OutcomeDeadLettered || outcome == policy.OutcomeRetried {
		e.Failure = &classify.Failure{Class: classify.Row, Level: classify.LevelRow, Code: classify.CodeNotJSON, Stage: classify.StageDecode, Err: errors.New("x")}
	}
	return e
}

func TestJournal_S0_11_auditsEveryDecisionButFirstDeliveries(t *testing.T) {
	for _, c := range []struct {
		scope   string
		outcome policy.Outcome
		attempt int
		want    int
	}{
		{"failures", policy.OutcomeDelivered, 1, 0},
		{"failures", policy.OutcomeDelivered, 2, 1},
		{"failures", policy.OutcomeRetried, 1, 1},
		{"failures", policy.OutcomeDeadLettered, 1, 1},
		{"failures", policy.OutcomeSuperseded, 1, 1},
		{"all", policy.OutcomeDelivered, 1, 1},
	} {
		j := &journal{cfg: parse(t, "audit: "+c.scope+"\n"), runID: "r"}
		records, err := j.records(event(c.outcome, c.attempt, header.Control{}))
		expect.That(t, err == nil && len(records) == c.want, "%s %s attempt %d: %d records, %v; want %d", c.scope, c.outcome, c.attempt, len(records), err, c.want)
		for _, r := range records {
			expect.That(t, r.Topic == "parcels.audit", "written to %s", r.Topic)
		}
	}
}

func TestJournal_C4_closesAReplayedLetterInTheSameTransaction(t *testing.T) {
	replayed := header.Control{DeadLetterID: "2-7-aabbccdd", ReplayID: "x", ReplayCount: 1, ContentHash: "sha256:00"}
	for outcome, want := range map[policy.Outcome]deadletters.Status{
		policy.OutcomeDelivered: deadletters.Reprocessed, policy.OutcomeDuplicate: deadletters.Duplicate,
		policy.OutcomeSuperseded: deadletters.Superseded, policy.OutcomeFiltered: deadletters.Discarded,
		policy.OutcomeSkipped: deadletters.Discarded, policy.OutcomeDeadLettered: deadletters.Pending,
		policy.OutcomeRetried: "", policy.OutcomeParked: "",
	} {
		e := event(outcome, 1, replayed)
		e.DeadLetterID = replayed.DeadLetterID
		records := must.Get((&journal{cfg: parse(t, ""), runID: "r"}).records(e))(t)
		expect.Equal(t, stateIn(t, records), want, outcome, "leaves the dead letter")
		for _, r := range records {
			if r.Topic != "parcels.audit" {
				continue
			}
			a, err := audit.Parse(r.Value)
			expect.That(t, err == nil && a.DeadLetter == replayed.DeadLetterID, "%s: the audit event is about the dead letter %q, %v: %s", outcome, a.DeadLetter, err, r.Value)
		}
	}
}

// S4-8: a dead letter that fails after all its replays is escalated, with a reason.
func TestJournal_S4_8_escalatesALetterThatFailedTooOften(t *testing.T) {
	for replays, want := range map[int]deadletters.Status{1: deadletters.Pending, 2: deadletters.Pending, 3: deadletters.Escalated, 4: deadletters.Escalated} {
		replayed := header.Control{DeadLetterID: "2-7-aabbccdd", ReplayID: "x", ReplayCount: replays, ContentHash: "sha256:00"}
		records := must.Get((&journal{cfg: parse(t, ""), runID: "r"}).records(event(policy.OutcomeDeadLettered, 1, replayed)))(t)
		expect.Equal(t, stateIn(t, records), want, "failed after replay", replays)
	}
}

func stateIn(t *testing.T, records []*kgo.Record) deadletters.Status {
	t.Helper()
	for _, r := range records {
		if r.Topic == "parcels.dlq-status" {
			s, err := deadletters.ParseState(r.Value)
			must.That(t, err == nil && r.Partition == 2, "state %s in partition %d: %v", r.Value, r.Partition, err)
			return s.Status
		}
	}
	return ""
}

func TestTally_conservesWhatItCounts(t *testing.T) {
	t.Parallel()
	tally := newTally(parse(t, ""))
	for _, o := range policy.Outcomes() {
		tally.add(event(o, 1, header.Control{}))
	}
	n := tally.counts
	waiting := int64(2) // retried and parked, both read from the source
	expect.That(t, n.Consumed == n.Delivered+n.DeadLettered+n.Duplicates+n.Superseded+n.Filtered+waiting, "%+v does not balance", n)
}

func TestSummary_S4_12_hasTheFieldsOfTheContract(t *testing.T) {
	text := must.Get(json.Marshal(Summary{}))(t)
	var fields map[string]any
	must.Do(t, json.Unmarshal(text, &fields))
	for _, name := range []string{"run_id", "pipeline", "status", "consumed", "delivered", "retried", "dead_lettered", "duplicates",
		"superseded", "filtered", "waiting", "dlq_rate", "checkpoint", "duration_seconds"} {
		_, ok := fields[name]
		expect.That(t, ok, "no field %s", name)
		delete(fields, name)
	}
	expect.That(t, len(fields) == 0, "fields beyond the contract: %v", fields)
}

// inParts returns a record of which 5 features are delivered, 2 are dead letters and one waits.
func inParts(code classify.Code) *retrytopics.Event {
	e := event(policy.OutcomeRetried, 1, header.Control{})
	for _, i := range []int{3, 6} {
		dead := event(policy.OutcomeDeadLettered, 1, header.Control{})
		dead.Part, dead.DeadLetterID, dead.Identity.FeatureID = header.Part{Index: i, Of: 8}, fmt.Sprint("2-7-aabbccdd-", i), fmt.Sprint("f", i)
		dead.Record, dead.Failure.Code = e.Record, code
		e.Dead = append(e.Dead, dead)
	}
	e.Parts = retrytopics.PartCounts{Delivered: 5, DeadLettered: 2, Waiting: 1}
	return e
}

// S0-11: each feature that is a dead letter has its own audit event with its part number, before the event of its
// record. A feature that a governance rule forbids is escalated. The outcome of a replayed part is an event of that
// part.
func TestJournal_S0_11_parts(t *testing.T) {
	type auditedPart struct {
		Decision, Part string
		DeadLetter     string `json:"dead_letter"`
		Reason         string
	}
	audited := func(e *retrytopics.Event) (all []auditedPart, escalated []string) {
		records := must.Get((&journal{cfg: parse(t, ""), runID: "r"}).records(e))(t)
		for _, r := range records {
			if r.Topic == "parcels.dlq-status" {
				s, err := deadletters.ParseState(r.Value)
				if err != nil {
					t.Error(err)
				} else if s.Status == deadletters.Escalated {
					escalated = append(escalated, s.ID)
				}
				continue
			}
			var one auditedPart
			must.Do(t, json.Unmarshal(r.Value, &one))
			all = append(all, one)
		}
		return all, escalated
	}
	got, _ := audited(inParts(classify.CodeNotJSON))
	want := []auditedPart{{"dead_lettered", "3/8", "2-7-aabbccdd-3", "handled"}, {"dead_lettered", "6/8", "2-7-aabbccdd-6", "handled"}, {"retried", "", "", "handled"}}
	expect.That(t, slices.Equal(got, want), "got  %v\nwant %v", got, want)
	_, escalated := audited(inParts(classify.CodeGovernanceDenied))
	expect.That(t, slices.Equal(escalated, []string{"2-7-aabbccdd-3", "2-7-aabbccdd-6"}), "escalated %v", escalated)
	replayed := event(policy.OutcomeSuperseded, 1, header.Control{Part: header.Part{Index: 3, Of: 8}, DeadLetterID: "2-7-aabbccdd-3", ReplayID: "x", ContentHash: "sha256:00"})
	got, _ = audited(replayed)
	expect.That(t, got[0].Part == "3/8", "a part that was put back: %v", got)
	partly := event(policy.OutcomeDelivered, 1, header.Control{})
	partly.Dead = inParts(classify.CodeNotJSON).Dead
	got, _ = audited(partly)
	expect.That(t, len(got) == 3 && got[2].Decision == "delivered", "a delivery at the first attempt, in parts: %v", got)
}

// S0-7, S4-12: log and summary count each feature that became a dead letter separately. The count of records adds up
// without them.
func TestTally_S4_12_parts(t *testing.T) {
	tally := newTally(parse(t, ""))
	e := inParts(classify.CodeNotJSON)
	tally.add(e)
	n := tally.counts
	expect.That(t, n.Consumed == 1 && n.Retried == 1 && n.DeadLettered == 0 && n.DeadParts == 2, "%+v", n)
	var text bytes.Buffer
	logDecision(t.Context(), slog.New(slog.NewJSONHandler(&text, nil)), e.Dead[0])
	line := text.String()
	expect.That(t, strings.Contains(line, `"level":"WARN"`) && strings.Contains(line, `"part":"3/8"`) && strings.Contains(line, `"dead_letter_id":"2-7-aabbccdd-3"`), "%v", line)
}

func TestMachine_S3_3_defersWhatEveryRecordWouldMeet(t *testing.T) {
	dial := func(errno syscall.Errno) error {
		return fmt.Errorf("place: %w", &net.OpError{Op: "dial", Err: os.NewSyscallError("socket", errno)})
	}
	for _, c := range []struct {
		err    error
		paused bool
	}{
		{dial(syscall.EMFILE), true}, {dial(syscall.ENFILE), true}, {dial(syscall.ENOMEM), true}, {dial(syscall.ENOBUFS), true},
		{dial(syscall.ECONNREFUSED), false}, {dial(syscall.EIO), false}, {errors.New("too many open files"), false}, {nil, false},
	} {
		m := &machine{log: slog.New(slog.DiscardHandler)}
		_, err := m.guard(func(context.Context, *retrytopics.Record) (retrytopics.Result, error) {
			return retrytopics.Result{}, c.err
		})(t.Context(), nil)
		paused, is := errors.AsType[*retrytopics.UnavailableError](err)
		expect.That(t, is == c.paused && errors.Is(err, c.err), "%v became %v", c.err, err)
		expect.That(t, !is || strings.Contains(paused.Error(), "machine") || strings.Contains(paused.Error(), "process"), "%v does not name the missing resource", paused)
	}
}

func TestMachine_S3_3_probesEverMoreRarelyAndTellsOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		m := &machine{log: slog.New(slog.NewJSONHandler(&log, nil))}
		var failure error = syscall.EMFILE
		handle := m.guard(func(context.Context, *retrytopics.Record) (retrytopics.Result, error) {
			return retrytopics.Result{}, failure
		})
		probes, last := 0, time.Duration(0)
		for began := time.Now(); time.Since(began) < 10*time.Minute; probes++ {
			_, err := handle(t.Context(), nil)
			paused, ok := errors.AsType[*retrytopics.UnavailableError](err)
			must.That(t, ok, "got %v", err)
			_, err = handle(t.Context(), nil)
			must.That(t, errors.Is(err, syscall.EMFILE) && errors.As(err, &paused) && m.probes == probes+1, "a concurrent failure was counted as a probe: %v", err)
			wait := time.Until(paused.RetryAt)
			must.That(t, wait >= last && wait <= longestProbe, "probe %d after %s, the one before after %s", probes, wait, last)
			last = wait
			time.Sleep(wait)
		}
		lines := strings.Count(log.String(), "\n")
		expect.That(t, probes <= 40 && lines <= 11, "%d probes, %d lines in ten minutes", probes, lines)
		failure = nil
		_, err := handle(t.Context(), nil)
		expect.That(t, err == nil && m.probes == 0 && strings.Contains(log.String(), "available again"), "%v, %d probes: %s", err, m.probes, &log)
	})
}

// S3-7: energy is CPU seconds times watts, CO2 is energy times the grid's intensity, shared among the attempts.
func TestMeter_S3_7_sharesMeasuredCPUSeconds(t *testing.T) {
	spent := time.Duration(0)
	m := &meter{rule: config.Energy{WattsPerCPU: 36, GridGramsPerKWh: 500}, cpu: func() (time.Duration, bool) { return spent, true }}
	spent = 20 * time.Second // 36 W for 20 s are 0.2 Wh, 0.1 g
	got := m.share(4)
	expect.That(t, got.measured && math.Abs(got.wattHours-0.05) <= 1e-12 && math.Abs(got.grams-0.025) <= 1e-12, "%+v", got)
	expect.Equal(t, m.share(1).wattHours, 0, "nothing was spent since watt hours")
	m.rule.WattsPerCPU = 0
	got = m.share(1)
	expect.That(t, !got.measured, "measured although it is not configured: %+v", got)
}

// S4-13: one line per batch of records, and one for the rest. No record is counted twice.
func TestRunLog_S4_13_tellsCountsPerBatch(t *testing.T) {
	var out bytes.Buffer
	l := &runLog{log: slog.New(slog.NewJSONHandler(&out, nil)), every: 100, began: time.Now(), tolerated: 0.2}
	for _, s := range []Summary{
		{Consumed: 40, Delivered: 40}, {Consumed: 130, Delivered: 120, DeadLettered: 10}, {Consumed: 150, Delivered: 135, DeadLettered: 15},
	} {
		l.write(s, false)
	}
	l.write(Summary{Consumed: 150, Delivered: 135, DeadLettered: 15}, true)
	l.write(Summary{Consumed: 150, Delivered: 135, DeadLettered: 15}, true)
	l.write(Summary{Consumed: 150, Delivered: 136, DeadLettered: 16}, true) // two more, from the tiers
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
		"too many and late as well": {Limits{MaxDLQRate: &rate}, Summary{DLQRate: 1, SLAMissed: true}, []string{"dead letters", "deadline"}},
	} {
		exceeded := c.limits.exceeded(c.run, 1)
		must.That(t, (exceeded != nil) == (c.want != nil), "%v: got %v", name, exceeded)
		text := (&LimitError{exceeded}).Error()
		for _, part := range c.want {
			expect.That(t, strings.Contains(text, part), "%v: %q is missing in: %s", name, part, text)
		}
	}
	waited := Summary{Delivered: 3, DeadLettered: 1} // all of them waited in a tier when the run began
	waited.DLQRate = waited.dlqRate()
	expect.That(t, waited.DLQRate == 0.25, "one of four is dead: %v", waited.DLQRate)
	if text := (Limits{MaxDLQRate: &rate}).exceeded(waited, 1); len(text) != 1 || !strings.Contains(text[0], "1 of 4 records") {
		t.Errorf("nothing taken from the source, one dead letter: %v", text)
	}
	for dead, tolerated := range map[int64]float64{50: 0.2, 11: 0.2, 1: 0} { // without its own limit, a run has the tolerance of the file
		s := Summary{Consumed: 50, DeadLettered: dead}
		s.DLQRate = s.dlqRate()
		text := (Limits{}).exceeded(s, tolerated)
		expect.That(t, len(text) == 1 && strings.Contains(text[0], "max_dead_letter_rate"), "%d of 50 dead, %v tolerated: %v", dead, tolerated, text)
		for _, own := range []Limits{{MaxDLQRate: new(float64)}, {}} {
			limit := 1.0
			if own.MaxDLQRate != nil {
				*own.MaxDLQRate = 1
				limit = 0
			}
			text := own.exceeded(s, limit)
			expect.That(t, text == nil, "%d of 50 dead, and 1 is accepted: %v", dead, text)
		}
	}
	text := (Limits{}).exceeded(Summary{Consumed: 50, DeadLettered: 10, DLQRate: 0.2}, 0.2)
	expect.That(t, text == nil, "just tolerated: %v", text)
	cfg := parse(t, "")
	got := (Limits{MaxDLQRate: &rate}).apply(cfg)
	expect.That(t, got.Pipeline.Tolerance.MaxDeadLetterRate == rate && cfg.Pipeline.Tolerance.MaxDeadLetterRate != rate, "the limit of a run must replace that of the file, for this run only")
}

// A second instance on a host takes a free metrics port if the port is in use, and logs it. With an explicit address it
// fails to start.
func TestServe_takesAFreePort(t *testing.T) {
	t.Parallel()
	taken := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer func() { must.Do(t, taken.Close()) }()
	var text strings.Builder
	cfg := &config.Config{}
	cfg.Metrics.Listen = taken.Addr().String()
	c := &Consumer{cfg: cfg, registry: prometheus.NewRegistry(), log: slog.New(slog.NewTextHandler(&text, nil))}
	_, err := c.listen(t.Context())
	_, inUse := errors.AsType[*telemetry.PortError](err)
	expect.That(t, inUse, "%v", err)
	c.anyPort = true
	stop := must.Get(c.serve(t.Context()))(t)
	stop()
	expect.That(t, strings.Contains(text.String(), "the metrics port is in use") && strings.Contains(text.String(), "metrics served"), "%s", &text)
}
