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

	"github.com/switchback-geo/switchback/internal/testkit/conservation"
	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/misbehave"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/internal/testkit/topiclog"
	"github.com/twmb/franz-go/pkg/kgo"
)

// breakered gives the step for place names a circuit breaker.
func (p *pipe) breakered(failures int, cooldown time.Duration) *pipe {
	p.t.Helper()
	text := must.Get(os.ReadFile(p.file))(p.t)
	with := fmt.Sprintf("/place?id={properties.id}\", breaker: { preset: standard, failures: %d, window: 60s, cooldown: %s, successes: 2 }", failures, cooldown)
	changed := strings.Replace(string(text), "/place?id={properties.id}\"", with, 1)
	must.That(p.t, changed != string(text), "the pipeline file has no step to give a breaker to")
	must.Do(p.t, os.WriteFile(p.file, []byte(changed), 0o644))
	return p
}

// S4-5, S3-5: a dependency that is down, by its answers and by silence, leaves the DLQ empty and the attempts as they
// were; it is asked again and again, and afterwards everything is delivered, in source order.
func TestOutage_S4_5_S3_5(t *testing.T) {
	beside(t, testrun.Proof)
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
	p := newPipe(t, 3*time.Minute, func(s *settings) { s.Ordering, s.Timeout = "strict", "5s" }).breakered(failures, time.Second).ensure()
	names := ids("o", keys)
	output := p.log.Tail(t, p.topics.Output)
	p.sendLevels(names, 0, before)
	consumer := p.start("it")
	output.UntilCount(p.ctx, t, "results before the outage", keys*before)
	p.places.Default(down)
	p.sendLevels(names, before, levels)
	consumer.WaitFor(p.ctx, t, consumer.Stderr, regexp.MustCompile(`"circuit_open":true`))
	opened := p.asked(names)
	eventually.Until(p.ctx, t, "some probes of the service that is down", func() (bool, string) {
		n := p.asked(names) - opened
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
	expect.That(t, spent < failures, "the outage spent %d attempts, want fewer than the %d failures that open the breaker", spent, failures)
	wantCircuitLog(t, r.Stderr)
}

// sendLevels sends events of every key, in their order.
func (p *pipe) sendLevels(names []string, from, to int) {
	p.t.Helper()
	var records []*kgo.Record
	for level := from; level < to; level++ {
		for _, id := range names {
			records = append(records, &kgo.Record{Topic: p.topics.Source, Key: []byte(id), Value: []byte(featureAt(id, level))})
		}
	}
	p.sendRecords(records...)
}

func levelOf(t *testing.T, r *kgo.Record) int {
	t.Helper()
	var f struct{ Properties struct{ Level int } }
	must.Do(t, json.Unmarshal(r.Value, &f))
	return f.Properties.Level
}

// failedAttempts is how many attempts a delivered record had before the one that delivered it.
func failedAttempts(t *testing.T, r *kgo.Record) int {
	t.Helper()
	text, n := topiclog.Header(r, "switchback-attempt")
	if n == 0 {
		return 0
	}
	attempt := must.Get(strconv.Atoi(text))(t)
	return attempt - 1
}

// asked is how often the service was asked.
func (p *pipe) asked(names []string) (n int) {
	for _, id := range names {
		n += len(p.places.Arrivals(id))
	}
	return n
}

// wantCircuitLog looks for the breaker in the log: it opens first and is closed at the end (S3-5).
func wantCircuitLog(t *testing.T, stderr string) {
	t.Helper()
	var states []bool
	for line := range strings.Lines(stderr) {
		var said struct {
			Open *bool `json:"circuit_open"`
		}
		if json.Unmarshal([]byte(line), &said) == nil && said.Open != nil {
			states = append(states, *said.Open)
		}
	}
	expect.That(t, len(states) >= 2 && states[0] && !states[len(states)-1], "the log says circuit_open %v, want true at first and false at last", states)
}
