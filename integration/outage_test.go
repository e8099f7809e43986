package integration

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/broker"
	"github.com/switchback-geo/switchback/internal/testkit/conservation"
	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/misbehave"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/internal/testkit/topiclog"
)

// addBreaker gives the step for place names a circuit breaker.
func (p *pipe) addBreaker(failures int, cooldown time.Duration) *pipe {
	p.t.Helper()
	text := must.Get(os.ReadFile(p.file))(p.t)
	with := fmt.Sprintf("/place?id={properties.id}\", breaker: { preset: standard, failures: %d, window: 60s, cooldown: %s, successes: 2 }", failures, cooldown)
	changed := strings.Replace(string(text), "/place?id={properties.id}\"", with, 1)
	must.That(p.t, changed != string(text), "the pipeline file has no step for a breaker")
	must.Do(p.t, os.WriteFile(p.file, []byte(changed), 0o644))
	return p
}

// S4-5, S3-5: while a dependency fails or hangs, no record becomes a dead letter or uses an attempt. The breaker probes
// the dependency, and afterwards everything is delivered in source order.
func TestOutage_S4_5_S3_5(t *testing.T) {
	parallel(t, testrun.Proof)
	for name, down := range map[string]misbehave.Answer{
		"503":    misbehave.Status(503),
		"resets": {Reset: true},
		"hangs":  {Status: 200, Hold: make(chan struct{})},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name != "503" {
				testrun.Nightly(t)
			}
			testOutage(t, down)
		})
	}
}

func testOutage(t *testing.T, down misbehave.Answer) {
	t.Helper()
	const failures, probes, keys, before, levels = 5, 3, 50, 2, 10
	p := newPipe(t, 3*time.Minute, func(s *settings) { s.Ordering, s.Timeout = "strict", "5s" }).addBreaker(failures, time.Second).ensure()
	names := ids("o", keys)
	output := p.log.Tail(t, p.topics.Output)
	p.sendLevels(names, 0, before)
	consumer := p.start("it")
	output.UntilCount(p.ctx, t, "results before the outage", keys*before)
	p.places.Default(down)
	p.sendLevels(names, before, levels)
	consumer.WaitFor(p.ctx, t, consumer.Stderr, regexp.MustCompile(`"circuit_open":true`))
	opened := p.requests(names)
	eventually.Until(p.ctx, t, "some probes of the service that is down", func() (bool, string) {
		n := p.requests(names) - opened
		return n >= probes, fmt.Sprint(n)
	})
	p.places.Default(misbehave.OK())
	output.UntilCount(p.ctx, t, "all results", keys*levels)
	r := p.stop(consumer)
	wantTotals(t, p.verify(), keys*levels, conservation.Place{Output: keys * levels})
	spent := 0
	for id, records := range byKey(p.read(p.topics.Output)) {
		for i, r := range records {
			expect.Equal(t, levelOf(t, r), i, id, "the event of result", i)
			spent += failedAttempts(t, r)
		}
	}
	expect.That(t, spent < failures, "the outage used %d attempts, want fewer than the %d failures that open the breaker", spent, failures)
	wantCircuitLog(t, r.Stderr)
}

// sendLevels sends events of every key, in their order.
func (p *pipe) sendLevels(names []string, from, to int) {
	p.t.Helper()
	for level := from; level < to; level++ {
		p.sendAt(level, names...)
	}
}

func levelOf(t *testing.T, r *kgo.Record) int {
	t.Helper()
	var f struct{ Properties struct{ Level int } }
	must.Do(t, json.Unmarshal(r.Value, &f))
	return f.Properties.Level
}

// failedAttempts returns the number of failed attempts of a delivered record.
func failedAttempts(t *testing.T, r *kgo.Record) int {
	t.Helper()
	text, n := topiclog.Header(r, "switchback-attempt")
	if n == 0 {
		return 0
	}
	attempt := must.Get(strconv.Atoi(text))(t)
	return attempt - 1
}

// requests returns how many requests the service received for these features.
func (p *pipe) requests(names []string) (n int) {
	for _, id := range names {
		n += len(p.places.Arrivals(id))
	}
	return n
}

// wantCircuitLog checks the log: the breaker opens first and is closed at the end (S3-5).
func wantCircuitLog(t *testing.T, stderr string) {
	t.Helper()
	var states []bool
	for line := range strings.Lines(stderr) {
		var entry struct {
			Open *bool `json:"circuit_open"`
		}
		if json.Unmarshal([]byte(line), &entry) == nil && entry.Open != nil {
			states = append(states, *entry.Open)
		}
	}
	expect.That(t, len(states) >= 2 && states[0] && !states[len(states)-1], "circuit_open in the log: %v, want true at first and false at last", states)
}

// S3-1, S4-14: after the source topic was deleted and re-created, the ledger and the state topic have offsets of the
// old topic. The consumer stops and reports it. After the adoption, every new event and every waiting record is
// delivered.
func TestRecreatedSource_S3_1_S4_14(t *testing.T) {
	parallel(t, testrun.Proof)
	p := newPipe(t, 2*time.Minute, tiers(2*time.Second, 4*time.Second)).ensure()
	all := ids("f", 30)
	p.places.Script("waits", misbehave.Status(503), misbehave.Status(503), misbehave.OK())
	waiting := p.leaveWaiting("waits", all...)
	before := len(p.read(p.topics.Output))

	p.recreateSource()
	p.sendAt(4, all...)

	refused := p.start("it", "--until-end").Wait(p.ctx, t)
	must.That(t, refused.Code == 1 && strings.Contains(refused.Stderr, "topics adopt -c") && strings.Contains(refused.Stderr, "was deleted and re-created"), "want exit code 1 and the command that adopts the topic: %s", refused)
	expect.Equal(t, len(p.read(p.topics.Output)), before, "outputs before the adoption")

	plan := p.run("consumer", "topics", "adopt", "-c", p.file)
	must.That(t, plan.Code == 0 && strings.Contains(plan.Stdout, "was deleted and re-created") && strings.Contains(plan.Stdout, "--execute"), "the plan: %s", plan)
	expect.That(t, strings.Contains(plan.Stdout, fmt.Sprintf("%d keys", before)), "the plan does not mention that %d keys are forgotten: %s", before, plan.Stdout)
	again := p.start("it", "--until-end").Wait(p.ctx, t)
	must.That(t, again.Code == 1, "a plan must change nothing: %s", again)
	done := p.run("consumer", "topics", "adopt", "-c", p.file, "--execute")
	must.That(t, done.Code == 0, "adopt: %s", done)
	s := p.drain()
	expect.That(t, s.number(t, "superseded") == 0 && s.number(t, "duplicates") == 0, "new events are closed: %v", s)
	expect.Equal(t, len(p.read(p.topics.Output)), before+len(all)+waiting, "outputs")
	done = p.run("consumer", "topics", "adopt", "-c", p.file)
	expect.That(t, done.Code == 0 && strings.Contains(done.Stdout, "nothing to adopt"), "a second plan: %s", done)
}

// leaveWaiting runs a consumer until it has delivered the given features while one feature waits in a tier, and returns
// the number of waiting records.
func (p *pipe) leaveWaiting(waits string, delivered ...string) (waiting int) {
	p.t.Helper()
	p.send(append(delivered, waits)...)
	consumer := p.start("it")
	out := p.log.Tail(p.t, p.topics.Output)
	out.UntilCount(p.ctx, p.t, "the outputs", len(delivered))
	p.log.Tail(p.t, p.topics.Tiers...).UntilCount(p.ctx, p.t, "a record in a tier", 1)
	p.stop(consumer)
	return len(delivered) + 1 - len(p.read(p.topics.Output))
}

// recreateSource deletes and re-creates the source topic.
func (p *pipe) recreateSource() {
	p.t.Helper()
	must.Do(p.t, p.log.Delete(p.ctx, p.topics.Source))
	p.log = topiclog.Connect(p.t, p.set.Brokers) // the previous client has the deleted topic's metadata
	settings := map[string]string{"max.message.bytes": fmt.Sprint(12 << 20)}
	must.Do(p.t, p.log.Create(p.ctx, p.topics.Source, int32(p.set.Partitions), settings))
}

// S3-1, S4-14: a group that was empty for longer than offsets.retention.minutes loses its commits. The consumer resumes
// from the checkpoint in the state topic: no record is delivered twice or out of order.
func TestExpiredOffsets_S3_1_S4_14(t *testing.T) {
	parallel(t, testrun.Proof)
	own, err := broker.Own(t.Context(), broker.OwnOptions{Settings: map[string]string{
		"offsets.retention.minutes": "1", "offsets.retention.check.interval.ms": "1000",
	}})
	if broker.Absent(err) && !broker.Forced() {
		t.Skipf("no broker of the test's own: %v", err)
	}
	must.Do(t, err)
	t.Cleanup(func() { expect.Do(t, own.Close(false)) })
	p := newPipe(t, 3*time.Minute, tiers(2*time.Second, 4*time.Second), func(s *settings) { s.Brokers, s.Dedupe = []string{own.Addr}, "0s" })
	p.log = topiclog.Connect(t, []string{own.Addr})
	p.ensure()
	all := ids("e", 60)
	p.places.Script("waits", misbehave.Status(503), misbehave.OK())
	p.leaveWaiting("waits", all...)
	eventually.Until(p.ctx, t, "the expiry of the group's offsets", func() (bool, string) {
		committed, err := p.log.Committed(p.ctx, p.topics.Group)
		return err == nil && len(committed) == 0, fmt.Sprint(committed, err)
	})
	p.send(ids("n", 20)...)
	r := p.start("it", "--until-end").Wait(p.ctx, t)
	must.That(t, r.Code == 0 && strings.Contains(r.Stderr, "continues from the checkpoint"), "want a run that logs where it resumes: %s", r)
	expect.Equal(t, len(p.read(p.topics.Output)), len(all)+20+1, "outputs")
	wantTotals(t, p.verify(), len(all)+20+1, conservation.Place{Output: len(all) + 20 + 1})
}
