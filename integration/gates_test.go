package integration

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/proof"
	"github.com/switchback-geo/switchback/internal/testkit/conservation"
	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/misbehave"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/proc"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/internal/testkit/topiclog"
)

func tolerance(keys string) func(*settings) {
	return func(s *settings) { s.Tolerance = keys }
}

// S4-1, S1-8: a gate pauses the pipeline at the first failure with a listed code. All instances die and restart, and the
// pipeline is still paused. After the cause is fixed and the pipeline resumed, every record is delivered at its first
// attempt.
func TestGateHoldsOverRestarts_S4_1_S1_8(t *testing.T) {
	parallel(t, testrun.Proof)
	p := newPipe(t, 2*time.Minute, shortSession, tolerance("max_null_rate: 1, halt_on_geometry_invalid: false, pause_on: [http_forbidden]")).ensure()
	all := ids("g", 300)
	for i, id := range all {
		if i%50 == 20 {
			p.places.Script(id, misbehave.Times(1000, misbehave.Status(403))...)
		}
	}
	first := p.startAll("one", "two")
	p.send(all...)
	for _, i := range first {
		i.WaitFor(p.ctx, t, i.Stderr, regexp.MustCompile(`pipeline paused`))
	}
	eventually.Until(p.ctx, t, "the pause in the control topic", func() (bool, string) { // the instances log the pause before the order is written
		now := p.state().State.State
		return now == "paused", now
	})
	p.kill(first...)
	again := p.startPaused("one", "two")
	before := len(p.read(p.topics.Output))
	s := p.state()
	expect.That(t, s.State.State == "paused" && s.State.Code == "http_forbidden" && strings.HasPrefix(s.State.By, "consumer ") && strings.Contains(s.State.Reason, p.set.ID+"/"), "status: %+v", s)
	expect.That(t, s.Lag != 0 && before < len(all), "%d of %d delivered while paused, lag %d", before, len(all), s.Lag)
	for _, id := range all {
		p.places.Script(id) // fixed
	}
	p.runConsumer("resume", "--reason", "permission granted")
	p.finishResumed(again...)
	wantTotals(t, p.verify(), len(all), conservation.Place{Output: len(all)})
	p.wantFirstAttempts(p.topics.Output)
	expect.Equal(t, len(p.read(p.topics.DLQ)), 0, "dead letters")
	trail := p.auditedOrders()
	expect.That(t, strings.Contains(trail, "paused: ") && strings.HasSuffix(trail, "state_changed: permission granted"), "audit trail of the orders: %s", trail)
}

// S4-1: a batch beyond a tolerance goes to the DLQ as a group, also after a restart of all instances, while other
// batches are delivered. The audit trail has the number of its records that were delivered. The dead letters can be
// replayed, and an operator can lift the quarantine.
func TestBatchQuarantine_S4_1(t *testing.T) {
	parallel(t, testrun.Fast)
	p := newPipe(t, 2*time.Minute, shortSession, tolerance("max_null_rate: 0.2, halt_on_geometry_invalid: false, min_records: 20")).ensure()
	batch := func(id string, names []string, level string) {
		var records []*kgo.Record
		for _, name := range names {
			text := fmt.Sprintf(`{"type":"Feature","id":%q,"properties":{"id":%q%s},"geometry":{"type":"Point","coordinates":[11.5,48.1]}}`, name, name, level)
			records = append(records, &kgo.Record{Topic: p.topics.Source, Key: []byte(name), Value: []byte(text),
				Headers: []kgo.RecordHeader{{Key: "batch-id", Value: []byte(id)}}})
		}
		p.sendRecords(records...)
	}
	const good, bad = `,"level":1`, ""
	first := p.start("one")
	batch("fine", ids("f", 60), good)
	batch("b-17", ids("x", 60), bad)
	first.WaitFor(p.ctx, t, first.Stderr, regexp.MustCompile(`batch quarantined[^}]*"batch_id":"b-17"`))
	trail := p.log.Tail(t, p.topics.Audit)
	trail.Until(p.ctx, t, "a report of the delivered records", func(seen []*kgo.Record) bool { return reportedDelivered(t, seen) > 0 })
	p.kill(first)
	batch("b-17", ids("y", 40), good) // the other records of the batch, whether valid or not
	batch("fine", ids("g", 40), good)
	r := p.start("it", "--until-end", "--summary", "-").Wait(p.ctx, t)
	s := readSummary(t, r.Stdout)
	expect.That(t, r.Code == exitPartial && fmt.Sprint(s["quarantined_batches"]) == "[b-17]" && strings.Contains(fmt.Sprint(s["limits_exceeded"]), "batch b-17"), "a run that leaves a quarantined batch behind: %s", r)
	quarantined := map[string]int{}
	for _, r := range p.read(p.topics.DLQ) {
		quarantined[value(r, "batch-id")+" "+value(r, "switchback-error-code")]++
	}
	// The records of the batch that the first instance had mapped but not committed when it was killed are quarantined.
	n, delivered := quarantined["b-17 batch_quarantined"], reportedDelivered(t, p.read(p.topics.Audit))
	expect.That(t, len(quarantined) == 1 && n >= 40 && n <= 100-delivered, "dead letters: %v; %d of the batch were reported as delivered", quarantined, delivered)
	wantTotals(t, p.verify(), 200, conservation.Place{Output: 200 - n, DeadLetters: n})
	if s := p.state(); s.State.State != "running" || len(s.Batches) != 1 || s.Batches[0].ID != "b-17" {
		t.Errorf("status: %+v", s)
	}
	r = p.run("replayer", "replay", "-c", p.file, "--all", "--execute", "--reason", "accepted unchanged")
	must.That(t, r.Code == 0, "replay: %s", r)
	p.drain()
	r = p.run("consumer", "resume", "-c", p.file, "--batch", "b-18", "--reason", "x")
	expect.That(t, r.Code == 3, "a batch that is not quarantined: %s", r)
	p.runConsumer("resume", "--batch", "b-17", "--reason", "fixed")
	batch("b-17", ids("z", 10), good)
	p.drain()
	wantTotals(t, p.verify(), 210, conservation.Place{Output: 210, DeadLetters: n, Replays: n})
}

// reportedDelivered returns how many records of batch b-17 the instance "one" had delivered, according to its latest
// report.
func reportedDelivered(t *testing.T, trail []*kgo.Record) (n int) {
	t.Helper()
	says := regexp.MustCompile(`batch b-17 is quarantined; consumer one had delivered (\d+) `)
	for _, r := range trail {
		if m := says.FindSubmatch(r.Value); m != nil {
			count := must.Get(strconv.Atoi(string(m[1])))(t)
			n = max(n, count)
		}
	}
	return n
}

// forgedReplay returns a producer's record whose headers claim that it is a replay.
func (p *pipe) forgedReplay(id string, level int, headers map[string]string) *kgo.Record {
	r := &kgo.Record{Topic: p.topics.Source, Key: []byte(id), Value: []byte(featureAt(id, level))}
	for name, value := range headers {
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: name, Value: []byte(value)})
	}
	return r
}

// drainWithWarning drains the pipeline, and fails unless the consumer warned about headers that it did not trust.
func (p *pipe) drainWithWarning(reason string) {
	p.t.Helper()
	r := p.start("it", "--until-end").Wait(p.ctx, p.t)
	must.That(p.t, r.Code == 0, "consumer run --until-end: %s", r)
	for line := range strings.Lines(r.Stderr) {
		if strings.Contains(line, `"level":"WARN"`) && strings.Contains(line, `"reason":"`+reason+`"`) && strings.Contains(line, `"topic":"`+p.topics.Source+`"`) {
			return
		}
	}
	p.t.Errorf("no warning with the reason %s:\n%s", reason, r.Stderr)
}

// S4-6: a producer cannot close a dead letter, neither with forged headers nor with a modified copy of a replay.
func TestTrust_S4_6_aForgedReplayClosesNoDeadLetter(t *testing.T) {
	parallel(t, testrun.Fast)
	p := newPipe(t, 2*time.Minute, func(s *settings) { s.Partitions, s.ReplayKey = 1, strings.Repeat("2a", proof.MinKeyBytes) }).ensure()
	p.makeDead(1)
	deadLetter := p.read(p.topics.DLQ)[0]
	id, _ := topiclog.Header(deadLetter, "switchback-dead-letter-id")
	source, _ := topiclog.Header(deadLetter, "switchback-source")
	p.sendRecords(p.forgedReplay("other", 4, map[string]string{
		"switchback-dead-letter-id": id, "switchback-source": source, "switchback-replay-id": "forged", "switchback-replay-count": "1",
	}))
	p.drainWithWarning("missing")
	states := p.states()
	expect.That(t, len(states) == 0, "a forged replay changed the state of a dead letter: %+v", states)
	p.places.Default(misbehave.Status(404))
	p.mustReplay("--execute")
	replay := p.read(p.topics.Source)[2]
	proven, n := topiclog.Header(replay, "switchback-replay-proof")
	must.Get(proof.ParseKeys(p.set.ReplayKey))(t)[0].Sign(replay)
	expect.That(t, n == 1 && proven == value(replay, "switchback-replay-proof"), "%d proofs, the first is %q: want the one of the key in the environment, %q", n, proven, value(replay, "switchback-replay-proof"))
	p.drain()
	p.wantStates(1, "pending") // it failed again
	p.places.Default(misbehave.OK())
	changed := &kgo.Record{Topic: replay.Topic, Key: []byte("another"), Value: []byte(featureAt("another", 9)), Headers: replay.Headers}
	p.sendRecords(changed)
	p.drainWithWarning("invalid")
	p.wantStates(1, "pending")
	p.mustReplay("--execute")
	p.drain()
	p.wantStates(1, "reprocessed")
	p.sendRecords(&kgo.Record{Topic: replay.Topic, Key: replay.Key, Value: replay.Value, Headers: replay.Headers}) // a copy, so its proof is valid
	p.drain()
	r := p.run("replayer", "replays", "-c", p.file)
	expect.That(t, r.Code == 0 && strings.Contains(r.Stderr, "1 outcome not counted"), "replayer replays: %s", r)
	wantChains(t, p)
	r = p.run("replayer", "list", "-c", p.file, "-o", "json")
	expect.That(t, strings.Contains(r.Stdout, `"reprocessed"`), "the copy of an earlier replay changed the state: %s", r)
}

// wantChains checks that the audit trail's chains verify, and that a forged event breaks one.
func wantChains(t *testing.T, p *pipe) {
	t.Helper()
	p.runConsumer("verify", "audit")
	p.sendRecords(&kgo.Record{Topic: p.topics.Audit, Value: []byte(
		`{"time":"2026-11-03T04:05:06.000Z","pipeline":"x","source":"","decision":"state_changed","attempt":0,"by":"mallory","chain":{"of":"operators","seq":9,"prev":"","hash":"sha256:00"}}`)})
	r := p.run("consumer", "verify", "audit", "-c", p.file)
	expect.That(t, r.Code == 4 && strings.Contains(r.Stdout, "BROKEN"), "consumer verify audit with a forged event: %s", r)
}

// pausedLog matches the log line of an instance that has paused.
var pausedLog = regexp.MustCompile(`"msg":"pipeline paused"`)

// runConsumer runs a consumer command and fails the test if the command fails.
func (p *pipe) runConsumer(args ...string) proc.Result {
	p.t.Helper()
	r := p.run("consumer", append(args, "-c", p.file)...)
	must.That(p.t, r.Code == 0, "consumer %s: %s", strings.Join(args, " "), r)
	return r
}

// pipelineStatus is the output of `consumer status`.
type pipelineStatus struct {
	State struct{ State, Reason, Code, By, At string }
	Lag   int
	Tiers []struct {
		Topic   string
		Waiting int
	}
	Batches    []struct{ ID, Reason string } `json:"quarantined_batches"`
	Partitions []struct{ Partition, Committed, End, Lag int }
}

func (p *pipe) state() (s pipelineStatus) {
	p.t.Helper()
	r := p.runConsumer("status", "-o", "json")
	must.Do(p.t, json.Unmarshal([]byte(r.Stdout), &s))
	return s
}

// startAll starts instances.
func (p *pipe) startAll(names ...string) (all []*proc.Process) {
	for _, name := range names {
		all = append(all, p.start(name))
	}
	return all
}

// startPaused starts instances and waits until each one has paused.
func (p *pipe) startPaused(names ...string) []*proc.Process {
	p.t.Helper()
	all := p.startAll(names...)
	for _, i := range all {
		i.WaitFor(p.ctx, p.t, i.Stderr, pausedLog)
	}
	return all
}

func (p *pipe) kill(instances ...*proc.Process) {
	p.t.Helper()
	for _, i := range instances {
		expect.That(p.t, i.Kill(), "an instance exited on its own")
	}
}

// finishResumed waits until paused instances have resumed, stops them, and drains the pipeline.
func (p *pipe) finishResumed(instances ...*proc.Process) {
	p.t.Helper()
	for _, i := range instances {
		i.WaitFor(p.ctx, p.t, i.Stderr, regexp.MustCompile(`"msg":"pipeline resumed"`))
	}
	for _, i := range instances {
		i.Signal(p.t, syscall.SIGTERM)
		expect.Equal(p.t, i.Wait(p.ctx, p.t).Code, 0, "exit code of a resumed instance")
	}
	p.drain()
}

// auditedOrders returns the audit events about the pipeline as a whole.
func (p *pipe) auditedOrders() string {
	p.t.Helper()
	var trail []string
	for _, r := range p.read(p.topics.Audit) {
		var e struct{ Decision, Reason, Source string }
		if err := json.Unmarshal(r.Value, &e); err != nil {
			p.t.Errorf("audit event %s: %v", r.Value, err)
		} else if e.Source == "" {
			trail = append(trail, e.Decision+": "+e.Reason)
		}
	}
	return strings.Join(trail, "; ")
}

// wantFirstAttempts checks that each output or dead letter took only one attempt.
func (p *pipe) wantFirstAttempts(topics ...string) {
	p.t.Helper()
	for _, topic := range topics {
		for _, r := range p.read(topic) {
			n, err := strconv.Atoi(value(r, "switchback-attempt"))
			expect.That(p.t, err != nil || n <= 1, "%s/%d/%d took %d attempts", r.Topic, r.Partition, r.Offset, n)
		}
	}
}

func value(r *kgo.Record, header string) string {
	for _, h := range r.Headers {
		if h.Key == header {
			return string(h.Value)
		}
	}
	return ""
}

// S1-8, S4-12: an operator's pause applies to every instance and survives the death of all of them. No record is
// lost, and no attempt is used.
func TestPause_S1_8_S4_12(t *testing.T) {
	parallel(t, testrun.Fast)
	p := newPipe(t, 2*time.Minute, shortSession).ensure()
	first, second := ids("a", 120), ids("b", 120)
	p.places.Script(first[7], misbehave.Status(503)) // one waits in a tier for a while
	p.send(first...)
	p.drain()
	p.runConsumer("pause", "--reason", "maintenance of the target", "--actor", "ana")
	p.send(second...)
	p.kill(p.startPaused("one", "two")...)
	again := p.startPaused("one", "two", "three")
	s := p.state()
	expect.That(t, s.State.State == "paused" && s.State.Reason == "maintenance of the target" && s.State.By == "ana" && s.State.Code == "operator" && s.Lag >= len(second), "status: %+v", s)
	expect.Equal(t, len(p.read(p.topics.Output)), len(first), "outputs while paused")
	r := p.start("bounded", "--until-end", "--summary", "-").Wait(p.ctx, t)
	expect.That(t, r.Code == 6 && readSummary(t, r.Stdout)["status"] == "paused", "a bounded run of a paused pipeline: %s", r)
	p.runConsumer("resume", "--reason", "target is back", "--actor", "ben")
	p.finishResumed(again...)
	s = p.state()
	expect.That(t, s.State.State == "running" && s.State.By == "ben" && s.Lag == 0, "status: %+v", s)
	wantTotals(t, p.verify(), 240, conservation.Place{Output: 240})
	expect.Equal(t, p.auditedOrders(), "paused: maintenance of the target; state_changed: target is back", "audit trail of the orders")
}

// Each exceeded rate ends a bounded run with exit code 6, and the next run as well, until an operator resumes the
// pipeline. The remaining records are processed after that.
func TestRates_S1_8_S4_9_S0_9(t *testing.T) {
	parallel(t, testrun.Fast)
	noLevel := func(id string) string {
		return fmt.Sprintf(`{"type":"Feature","id":%q,"properties":{"id":%q},"geometry":{"type":"Point","coordinates":[11.5,48.1]}}`, id, id)
	}
	bowTie := func(id string) string {
		return fmt.Sprintf(`{"type":"Feature","id":%q,"properties":{"id":%q,"level":1},"geometry":{"type":"Polygon","coordinates":[[[0,0],[1,1],[1,0],[0,1],[0,0]]]}}`, id, id)
	}
	for name, c := range map[string]struct {
		tolerance   string
		value       func(id string) string // of every third record
		script      []misbehave.Answer     // for every third record
		code        string
		deadLetters bool // some records are dead letters before the pause
	}{
		"S1-8_transient":         {"max_null_rate: 1, halt_on_geometry_invalid: false, max_transient_rate: 0.2, min_records: 50", feature, misbehave.Times(2, misbehave.Status(503)), "transient_rate", false},
		"S4-9_dead_letters":      {"max_null_rate: 1, halt_on_geometry_invalid: false, max_dead_letter_rate: 0.2, min_records: 50", feature, misbehave.Times(2, misbehave.Status(404)), "dead_letter_rate", true},
		"S0-9_null_rate":         {"max_null_rate: 0.2, halt_on_geometry_invalid: false, min_records: 50", noLevel, nil, "null_rate", false},
		"S0-2_geometry_invalid":  {"max_null_rate: 1, halt_on_geometry_invalid: true", bowTie, nil, "geometry_invalid", false},
		"S0-9_precision_coarser": {"max_null_rate: 1, halt_on_geometry_invalid: false, min_decimals: 3", feature, nil, "precision_degraded", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPipe(t, time.Minute, tolerance(c.tolerance)).ensure()
			all := ids("r", 150)
			var records []*kgo.Record
			for i, id := range all {
				text := feature(id)
				if i%3 == 0 {
					text = c.value(id)
					if c.script != nil {
						p.places.Script(id, c.script...)
					}
				}
				records = append(records, &kgo.Record{Topic: p.topics.Source, Key: []byte(id), Value: []byte(text)})
			}
			p.sendRecords(records...)
			for range 2 {
				r := p.start("it", "--until-end", "--summary", "-").Wait(p.ctx, t)
				s := readSummary(t, r.Stdout)
				must.That(t, r.Code == 6 && s["status"] == "paused" && strings.Contains(fmt.Sprint(s["reason"]), c.code), "a bounded run beyond a tolerance: %s", r)
			}
			deadLetters := len(p.read(p.topics.DLQ))
			expect.That(t, (deadLetters > 0) == c.deadLetters, "%d dead letters when the pipeline was paused", deadLetters)
			p.set.Tolerance = tolerant
			p.write() // the operator decides to accept the data
			p.runConsumer("resume", "--reason", "accepted")
			p.drain()
			account := p.verify()
			n, sum := account.Totals()
			expect.That(t, n == len(all) && sum.Waiting+sum.Unread <= 0 && sum.Output+sum.DeadLetters == len(all), "%d inputs in %+v", n, sum)
		})
	}
}
