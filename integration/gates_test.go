package integration

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/conservation"
	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/misbehave"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

func tolerance(keys string) func(*settings) {
	return func(s *settings) { s.Tolerance = keys }
}

// S4-1, S1-8: a gate holds the pipeline at the first failure with a listed code. All instances die and are started again: it
// is still held. After the cause is fixed and the pipeline resumed, everything is delivered at its first attempt.
func TestGateHoldsOverRestarts_S4_1_S1_8(t *testing.T) {
	testrun.Proof(t)
	t.Parallel()
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
		return now == "held", now
	})
	p.kill(first...)
	again := p.holding("one", "two")
	before := len(p.read(p.topics.Output))
	s := p.state()
	expect.That(t, s.State.State == "held" && s.State.Code == "http_forbidden" && strings.HasPrefix(s.State.By, "consumer ") && strings.Contains(s.State.Reason, p.set.ID+"/"),
		"status: %+v", s)
	expect.That(t, s.Lag != 0 && before < len(all), "%d of %d delivered while held, lag %d", before, len(all), s.Lag)
	for _, id := range all {
		p.places.Script(id) // fixed
	}
	p.order("resume", "--reason", "permission granted")
	p.finish(again...)
	wantTotals(t, p.verify(), len(all), conservation.Place{Output: len(all)})
	p.triedOnce(p.topics.Output)
	if letters := p.read(p.topics.DLQ); len(letters) != 0 {
		t.Errorf("%d dead letters", len(letters))
	}
	if trail := p.ordersTrail(); !strings.Contains(trail, "held: ") || !strings.HasSuffix(trail, "state_changed: permission granted") {
		t.Errorf("audit trail of the orders: %s", trail)
	}
}

// S4-1: a batch beyond a tolerance goes to the DLQ as a group, also after a restart of everything, and the rest flows on.
// What was delivered of it is in the audit trail. Its letters can be replayed, and what comes later is let through once a
// person says so.
func TestBatchQuarantine_S4_1(t *testing.T) {
	testrun.Fast(t)
	t.Parallel()
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
	if s := readSummary(t, r.Stdout); r.Code != exitPartly || fmt.Sprint(s["quarantined_batches"]) != "[b-17]" || !strings.Contains(fmt.Sprint(s["limits_exceeded"]), "batch b-17") {
		t.Errorf("a run that leaves a quarantined batch behind: %s", r)
	}
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
	if r := p.run("replayer", "replay", "-c", p.file, "--all", "--execute", "--reason", "accepted as it is"); r.Code != 0 {
		t.Fatalf("replay: %s", r)
	}
	p.drain()
	if r := p.run("consumer", "resume", "-c", p.file, "--batch", "b-18", "--reason", "x"); r.Code != 3 {
		t.Errorf("a batch that is not quarantined: %s", r)
	}
	p.order("resume", "--batch", "b-17", "--reason", "fixed")
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
	testrun.Fast(t)
	t.Parallel()
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
				if s := readSummary(t, r.Stdout); r.Code != 6 || s["status"] != "held" || !strings.Contains(fmt.Sprint(s["reason"]), c.code) {
					t.Fatalf("a bounded run beyond a tolerance: %s", r)
				}
			}
			letters := len(p.read(p.topics.DLQ))
			expect.That(t, (letters > 0) == c.letters, "%d dead letters when it was held", letters)
			p.set.Tolerance = tolerant
			p.write() // what a person decides who accepts the data as they are
			p.order("resume", "--reason", "accepted")
			p.drain()
			account := p.verify()
			if n, sum := account.Totals(); n != len(all) || sum.Waiting+sum.Unread > 0 || sum.Output+sum.Letters != len(all) {
				t.Errorf("%d inputs in %+v", n, sum)
			}
		})
	}
}
