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

// S4-1, S1-8: a gate holds the pipeline at the first failure with a listed code. All instances die and are started again: it
// is still held. After the cause is fixed and the pipeline resumed, everything is delivered at its first attempt.
func TestGateHoldsOverRestarts_S4_1_S1_8(t *testing.T) {
	beside(t, testrun.Proof)
	p := newPipe(t, 2*time.Minute, killed, tolerance("max_null_rate: 1, halt_on_geometry_invalid: false, hold_on: [http_forbidden]")).ensure()
	all := ids("g", 300)
	for i, id := range all {
		if i%50 == 20 {
			p.places.Script(id, misbehave.Times(1000, misbehave.Status(403))...)
		}
	}
	first := p.fleet("one", "two")
	p.send(all...)
	for _, i := range first {
		i.WaitFor(p.ctx, t, i.Stderr, regexp.MustCompile(`pipeline paused`))
	}
	eventually.Until(p.ctx, t, "an order that outlives both", func() (bool, string) { // they have said it before it was written
		now := p.state().State.State
		return now == "paused", now
	})
	p.kill(first...)
	again := p.holding("one", "two")
	before := len(p.read(p.topics.Output))
	s := p.state()
	expect.That(t, s.State.State == "paused" && s.State.Code == "http_forbidden" && strings.HasPrefix(s.State.By, "consumer ") && strings.Contains(s.State.Reason, p.set.ID+"/"), "status: %+v", s)
	expect.That(t, s.Lag != 0 && before < len(all), "%d of %d delivered while held, lag %d", before, len(all), s.Lag)
	for _, id := range all {
		p.places.Script(id) // fixed
	}
	p.does("resume", "--reason", "permission granted")
	p.finish(again...)
	wantTotals(t, p.verify(), len(all), conservation.Place{Output: len(all)})
	p.triedOnce(p.topics.Output)
	expect.Equal(t, len(p.read(p.topics.DLQ)), 0, "dead letters")
	trail := p.ordersTrail()
	expect.That(t, strings.Contains(trail, "paused: ") && strings.HasSuffix(trail, "state_changed: permission granted"), "audit trail of the orders: %s", trail)
}

// S4-1: a batch beyond a tolerance goes to the DLQ as a group, also after a restart of everything, and the rest flows on.
// What was delivered of it is in the audit trail. Its letters can be replayed, and what comes later is let through once a
// person says so.
func TestBatchQuarantine_S4_1(t *testing.T) {
	beside(t, testrun.Fast)
	p := newPipe(t, 2*time.Minute, killed, tolerance("max_null_rate: 0.2, halt_on_geometry_invalid: false, min_records: 20")).ensure()
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
	trail.Until(p.ctx, t, "a report of what was delivered", func(seen []*kgo.Record) bool { return reported(t, seen) > 0 })
	p.kill(first)
	batch("b-17", ids("y", 40), good) // the rest of it, good or not
	batch("fine", ids("g", 40), good)
	r := p.start("it", "--until-end", "--summary", "-").Wait(p.ctx, t)
	s := readSummary(t, r.Stdout)
	expect.That(t, r.Code == exitPartly && fmt.Sprint(s["quarantined_batches"]) == "[b-17]" && strings.Contains(fmt.Sprint(s["limits_exceeded"]), "batch b-17"), "a run that leaves a quarantined batch behind: %s", r)
	quarantined := map[string]int{}
	for _, r := range p.read(p.topics.DLQ) {
		quarantined[value(r, "batch-id")+" "+value(r, "switchback-error-code")]++
	}
	// What the first instance had mapped when it was killed, and not committed, is refused after it.
	n, delivered := quarantined["b-17 batch_quarantined"], reported(t, p.read(p.topics.Audit))
	expect.That(t, len(quarantined) == 1 && n >= 40 && n <= 100-delivered, "dead letters: %v; %d of the batch were reported as delivered", quarantined, delivered)
	wantTotals(t, p.verify(), 200, conservation.Place{Output: 200 - n, Letters: n})
	if s := p.state(); s.State.State != "running" || len(s.Batches) != 1 || s.Batches[0].ID != "b-17" {
		t.Errorf("status: %+v", s)
	}
	r = p.run("replayer", "replay", "-c", p.file, "--all", "--execute", "--reason", "accepted as it is")
	must.That(t, r.Code == 0, "replay: %s", r)
	p.drain()
	r = p.run("consumer", "resume", "-c", p.file, "--batch", "b-18", "--reason", "x")
	expect.That(t, r.Code == 3, "a batch that is not quarantined: %s", r)
	p.does("resume", "--batch", "b-17", "--reason", "fixed")
	batch("b-17", ids("z", 10), good)
	p.drain()
	wantTotals(t, p.verify(), 210, conservation.Place{Output: 210, Letters: n, Replays: n})
}

// reported is how many records of the batch b-17 the instance "one" had delivered, as its latest report says.
func reported(t *testing.T, trail []*kgo.Record) (n int) {
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

// Each rate that is too high ends a bounded run with the exit code 6, and the next run as well, until a person resumes it.
// What is not finished by then is processed after it.
func TestRates_S1_8_S4_9_S0_9(t *testing.T) {
	beside(t, testrun.Fast)
	noLevel := func(id string) string {
		return fmt.Sprintf(`{"type":"Feature","id":%q,"properties":{"id":%q},"geometry":{"type":"Point","coordinates":[11.5,48.1]}}`, id, id)
	}
	bowTie := func(id string) string {
		return fmt.Sprintf(`{"type":"Feature","id":%q,"properties":{"id":%q,"level":1},"geometry":{"type":"Polygon","coordinates":[[[0,0],[1,1],[1,0],[0,1],[0,0]]]}}`, id, id)
	}
	for name, c := range map[string]struct {
		tolerance string
		value     func(id string) string // of every third record
		script    []misbehave.Answer     // for every third record
		code      string
		letters   bool // some records are dead before it is held
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
			letters := len(p.read(p.topics.DLQ))
			expect.That(t, (letters > 0) == c.letters, "%d dead letters when it was held", letters)
			p.set.Tolerance = tolerant
			p.write() // what a person decides who accepts the data as they are
			p.does("resume", "--reason", "accepted")
			p.drain()
			account := p.verify()
			n, sum := account.Totals()
			expect.That(t, n == len(all) && sum.Waiting+sum.Unread <= 0 && sum.Output+sum.Letters == len(all), "%d inputs in %+v", n, sum)
		})
	}
}

// forged is a record of a producer that claims to be a replay.
func (p *pipe) forged(id string, level int, headers map[string]string) *kgo.Record {
	r := &kgo.Record{Topic: p.topics.Source, Key: []byte(id), Value: []byte(featureAt(id, level))}
	for name, value := range headers {
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: name, Value: []byte(value)})
	}
	return r
}

// warned drains, and fails unless the consumer warned of a record whose headers it did not believe.
func (p *pipe) warned(reason string) {
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

// S4-6: a producer cannot close a dead letter: neither with forged headers, nor with a replay that it has read and changed.
func TestTrust_S4_6_aForgedReplayClosesNoDeadLetter(t *testing.T) {
	beside(t, testrun.Fast)
	p := newPipe(t, 2*time.Minute, func(s *settings) { s.Partitions, s.ReplayKey = 1, strings.Repeat("2a", proof.MinKeyBytes) }).ensure()
	p.dead(1)
	letter := p.read(p.topics.DLQ)[0]
	id, _ := topiclog.Header(letter, "switchback-dead-letter-id")
	source, _ := topiclog.Header(letter, "switchback-source")
	p.sendRecords(p.forged("other", 4, map[string]string{
		"switchback-dead-letter-id": id, "switchback-source": source, "switchback-replay-id": "forged", "switchback-replay-count": "1",
	}))
	p.warned("missing")
	states, _ := p.states()
	expect.That(t, len(states) == 0, "a forged replay changed the state of a dead letter: %+v", states)
	p.places.Default(misbehave.Status(404))
	p.replays("--execute")
	replay := p.read(p.topics.Source)[2]
	proven, n := topiclog.Header(replay, "switchback-replay-proof")
	must.Get(proof.ParseKeys(p.set.ReplayKey))(t)[0].Sign(replay)
	expect.That(t, n == 1 && proven == value(replay, "switchback-replay-proof"), "%d proofs, the first is %q: want that of the key in the environment, %q", n, proven, value(replay, "switchback-replay-proof"))
	p.drain()
	p.wantStates(1, "pending") // it failed again
	p.places.Default(misbehave.OK())
	changed := &kgo.Record{Topic: replay.Topic, Key: []byte("another"), Value: []byte(featureAt("another", 9)), Headers: replay.Headers}
	p.sendRecords(changed)
	p.warned("invalid")
	p.wantStates(1, "pending")
	p.replays("--execute")
	p.drain()
	p.wantStates(1, "reprocessed")
	p.sendRecords(&kgo.Record{Topic: replay.Topic, Key: replay.Key, Value: replay.Value, Headers: replay.Headers}) // a copy, its proof is valid
	p.drain()
	r := p.run("replayer", "replays", "-c", p.file)
	expect.That(t, r.Code == 0 && strings.Contains(r.Stderr, "1 outcome not counted"), "replayer replays: %s", r)
	wantChains(t, p)
	r = p.run("replayer", "list", "-c", p.file, "-o", "json")
	expect.That(t, strings.Contains(r.Stdout, `"reprocessed"`), "the copy of an earlier replay changed the state: %s", r)
}

// wantChains holds the audit trail against its chains, and shows that an event which somebody adds breaks one.
func wantChains(t *testing.T, p *pipe) {
	t.Helper()
	p.does("verify", "audit")
	p.sendRecords(&kgo.Record{Topic: p.topics.Audit, Value: []byte(
		`{"time":"2026-11-03T04:05:06.000Z","pipeline":"x","source":"","decision":"state_changed","attempt":0,"by":"mallory","chain":{"of":"operators","seq":9,"prev":"","hash":"sha256:00"}}`)})
	r := p.run("consumer", "verify", "audit", "-c", p.file)
	expect.That(t, r.Code == 4 && strings.Contains(r.Stdout, "BROKEN"), "consumer verify audit with a forged event: %s", r)
}

// holds is what an instance says once it obeys an order to hold.
var holds = regexp.MustCompile(`"msg":"pipeline paused"`)

// does runs a command of the consumer, which must succeed.
func (p *pipe) does(args ...string) proc.Result {
	p.t.Helper()
	r := p.run("consumer", append(args, "-c", p.file)...)
	must.That(p.t, r.Code == 0, "consumer %s: %s", strings.Join(args, " "), r)
	return r
}

// pipelineStatus is what `consumer status` says.
type pipelineStatus struct {
	State struct{ State, Reason, Code, By, At string }
	Lag   int
	Tiers []struct {
		Topic   string
		Waiting int
	}
	Batches []struct{ ID, Reason string } `json:"quarantined_batches"`
	Shards  []struct{ Partition, Committed, End, Lag int }
}

func (p *pipe) state() (s pipelineStatus) {
	p.t.Helper()
	r := p.does("status", "-o", "json")
	must.Do(p.t, json.Unmarshal([]byte(r.Stdout), &s))
	return s
}

// fleet starts instances.
func (p *pipe) fleet(names ...string) (all []*proc.Process) {
	for _, name := range names {
		all = append(all, p.start(name))
	}
	return all
}

// holding starts instances and returns once each says that it holds.
func (p *pipe) holding(names ...string) []*proc.Process {
	p.t.Helper()
	all := p.fleet(names...)
	for _, i := range all {
		i.WaitFor(p.ctx, p.t, i.Stderr, holds)
	}
	return all
}

func (p *pipe) kill(instances ...*proc.Process) {
	p.t.Helper()
	for _, i := range instances {
		expect.That(p.t, i.Kill(), "an instance ended by itself")
	}
}

// finish waits until held instances have heard of the resume, stops them, and drains what is left.
func (p *pipe) finish(instances ...*proc.Process) {
	p.t.Helper()
	for _, i := range instances {
		i.WaitFor(p.ctx, p.t, i.Stderr, regexp.MustCompile(`"msg":"pipeline resumed"`))
	}
	for _, i := range instances {
		i.Signal(p.t, syscall.SIGTERM)
		expect.Equal(p.t, i.Wait(p.ctx, p.t).Code, 0, "an instance that was held and resumed code")
	}
	p.drain()
}

// ordersTrail is what the audit trail says of the pipeline as a whole.
func (p *pipe) ordersTrail() string {
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

// triedOnce fails the test when an output or dead letter took another attempt than the first.
func (p *pipe) triedOnce(topics ...string) {
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

// S1-8, S4-12: what a person orders holds in every instance and over the death of all of them. Nothing is lost or spent
// meanwhile.
func TestPause_S1_8_S4_12(t *testing.T) {
	beside(t, testrun.Fast)
	p := newPipe(t, 2*time.Minute, killed).ensure()
	first, second := ids("a", 120), ids("b", 120)
	p.places.Script(first[7], misbehave.Status(503)) // one waits in a tier for a while
	p.send(first...)
	p.drain()
	p.does("pause", "--reason", "maintenance of the target", "--actor", "ana")
	p.send(second...)
	p.kill(p.holding("one", "two")...)
	again := p.holding("one", "two", "three")
	s := p.state()
	expect.That(t, s.State.State == "paused" && s.State.Reason == "maintenance of the target" && s.State.By == "ana" && s.State.Code == "operator" && s.Lag >= len(second), "status: %+v", s)
	expect.Equal(t, len(p.read(p.topics.Output)), len(first), "outputs while held")
	r := p.start("bounded", "--until-end", "--summary", "-").Wait(p.ctx, t)
	expect.That(t, r.Code == 6 && readSummary(t, r.Stdout)["status"] == "paused", "a bounded run of a held pipeline: %s", r)
	p.does("resume", "--reason", "target is back", "--actor", "ben")
	p.finish(again...)
	s = p.state()
	expect.That(t, s.State.State == "running" && s.State.By == "ben" && s.Lag == 0, "status: %+v", s)
	wantTotals(t, p.verify(), 240, conservation.Place{Output: 240})
	expect.Equal(t, p.ordersTrail(), "paused: maintenance of the target; state_changed: target is back", "audit trail of the orders")
}
