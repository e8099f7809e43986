package integration

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
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

// `go test ./integration -run Outage -outage 60s -outage.measured` is the long form: all ways of being down, one after
// another.
var (
	outageFlag   = flag.Duration("outage", 0, "how long the dependency of TestOutage is down; 0: 60 s of 503 on a real broker in the tier nightly, else 12 s")
	measuredFlag = flag.Bool("outage.measured", false, "hold the drain after an outage to 1.3 times the ideal")
)

// outage is how long the dependency is down in one of its ways.
func (w *world) outage(way string, nightly bool) time.Duration {
	switch {
	case *outageFlag > 0:
		return *outageFlag
	case nightly && w.kafka.Real() && way == "503":
		return time.Minute
	default:
		return 12 * time.Second
	}
}

// breakered gives the step for place names a circuit breaker.
func (p *pipe) breakered(failures int, cooldown time.Duration) *pipe {
	p.t.Helper()
	text, err := os.ReadFile(p.file)
	if err != nil {
		p.t.Fatal(err)
	}
	with := fmt.Sprintf("/place?id={properties.id}\", breaker: { preset: standard, failures: %d, window: 60s, cooldown: %s, successes: 2 }", failures, cooldown)
	changed := strings.Replace(string(text), "/place?id={properties.id}\"", with, 1)
	if changed == string(text) {
		p.t.Fatal("the pipeline file has no step to give a breaker to")
	}
	if err := os.WriteFile(p.file, []byte(changed), 0o644); err != nil {
		p.t.Fatal(err)
	}
	return p
}

// scale is how much a test of an outage sends. Levels are events of one key.
type scale struct {
	keys, before, levels int
	timeout              time.Duration // of one request
	measured             bool          // whether the drain is held to the ideal
}

func scaleOf(outage time.Duration, measured bool) scale {
	if outage >= time.Minute {
		return scale{keys: 500, before: 20, levels: 40, timeout: 5 * time.Second, measured: measured}
	}
	return scale{keys: 50, before: 2, levels: 10, timeout: 5 * time.Second}
}

func (s scale) events() int { return s.keys * s.levels }

// S4-5, S3-5: a dependency that is down, by its answers and by silence, leaves the DLQ empty and the attempts as they
// were; it is asked once a cooldown, and afterwards everything is delivered, in source order.
func TestOutage_S4_5_S3_5(t *testing.T) {
	testrun.Proof(t)
	if !*measuredFlag {
		t.Parallel()
	}
	for name, down := range map[string]misbehave.Answer{
		"503":    misbehave.Status(503),
		"resets": {Reset: true},
		"hangs":  {Status: 200, Hold: make(chan struct{})},
	} {
		t.Run(name, func(t *testing.T) {
			if !*measuredFlag {
				t.Parallel()
			}
			if name != "503" {
				testrun.Nightly(t)
			}
			outage := theWorld(t).outage(name, testrun.IsNightly(t))
			testOutage(t, down, outage, scaleOf(outage, *measuredFlag))
		})
	}
}

func testOutage(t *testing.T, down misbehave.Answer, outage time.Duration, size scale) {
	t.Helper()
	const failures, cooldown = 5, time.Second
	p := newPipe(t, outage+3*time.Minute, func(s *settings) { s.Ordering, s.Timeout = "strict", size.timeout.String() }).
		breakered(failures, cooldown).ensure()
	names := ids("o", size.keys)
	output := p.log.Tail(t, p.topics.Output)
	p.sendLevels(names, 0, size.before)
	consumer := p.start("it")
	output.UntilCount(p.ctx, t, "the first result", 1)
	healthy := time.Now()
	output.UntilCount(p.ctx, t, "results before the outage", size.keys*size.before)
	usual := time.Since(healthy)

	p.places.Default(down)
	began := time.Now()
	p.sendLevels(names, size.before, size.levels)
	eventually.Until(p.ctx, t, "the end of the outage", func() (bool, string) {
		took := time.Since(began)
		return took >= outage, took.String()
	})
	asked := p.arrivedAfter(names, began)
	p.places.Default(misbehave.OK())
	ended := time.Now()
	output.UntilCount(p.ctx, t, "all results", size.events())
	again := cooldown // until the service is asked again, at the latest
	if down.Hold != nil {
		again += size.timeout // for the probe that hangs when the outage ends
	}
	size.wantDrain(t, time.Since(ended), usual, again)
	r := p.stop(consumer)

	if seen := output.Seen(); len(seen) != size.events() {
		t.Errorf("%d results, want %d", len(seen), size.events())
	}
	wantTotals(t, p.verify(), size.events(), conservation.Place{Output: size.events()})
	spent := 0
	for id, records := range byKey(p.read(p.topics.Output)) {
		for i, r := range records {
			if level := levelOf(t, r); level != i {
				t.Errorf("%s: result %d is that of event %d", id, i, level)
			}
			spent += failedAttempts(t, r)
		}
	}
	expect.That(t, spent < failures, "the outage spent %d attempts, want fewer than the %d failures that open the breaker", spent, failures)
	wantProbes(t, asked, cooldown)
	wantCircuitLog(t, r.Stderr)
}

// wantDrain compares how long the backlog of an outage took with the ideal: what as many events took before it, and the
// time until the service is asked again. The ideal is only known well enough of many events.
func (s scale) wantDrain(t *testing.T, took, usual, again time.Duration) {
	t.Helper()
	ideal := time.Duration(float64(usual)*float64(s.levels-s.before)/float64(s.before)) + again
	t.Logf("%d events drained in %v; the ideal is %v, of which %v until the service is asked again", s.keys*(s.levels-s.before), took, ideal, again)
	expect.That(t, !s.measured || took <= ideal*13/10, "the drain took %v, want at most 1.3 times the ideal of %v", took, ideal)
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

// arrivedAfter gives the times of all requests since then, in their order.
func (p *pipe) arrivedAfter(names []string, since time.Time) []time.Time {
	var all []time.Time
	for _, id := range names {
		for _, at := range p.places.Arrivals(id) {
			if at.After(since) {
				all = append(all, at)
			}
		}
	}
	slices.SortFunc(all, time.Time.Compare)
	return all
}

// wantProbes proves that the service was asked while it was down, and, once the breaker was open, at most once a cooldown. A
// slow machine asks less often.
func wantProbes(t *testing.T, asked []time.Time, cooldown time.Duration) {
	t.Helper()
	const connections = 32 + 8 // those under way when the outage begins
	must.That(t, len(asked) != 0, "the service was never asked while it was down")
	lasted := asked[len(asked)-1].Sub(asked[0])
	if most := connections + int(lasted/cooldown); len(asked) > most {
		t.Errorf("%d requests in %v with a cooldown of %v, want at most %d", len(asked), lasted, cooldown, most)
	}
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
