package integration

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/conservation"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/misbehave"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/internal/testkit/topiclog"
)

// C-1: consumers transform feature messages read from a Kafka topic.
func TestDelivered_C1(t *testing.T) {
	beside(t, testrun.Proof)
	p := newPipe(t, time.Minute).ensure()
	const n = 300
	sent := p.send(ids("f", n)...)
	s := p.drain().balances(t)
	expect.Equal(t, s.number(t, "delivered"), n, "summary: delivered")
	wantTotals(t, p.verify(), n, conservation.Place{Output: n})

	source := map[string]*kgo.Record{}
	for _, r := range sent {
		source[topiclog.Position(r)] = r
	}
	for _, r := range p.read(p.topics.Output) {
		from, _ := topiclog.Header(r, "switchback-source")
		checkOutput(t, r, source[from])
	}

	t.Run("a_second_run_has_nothing_to_do", func(t *testing.T) {
		expect.Equal(t, p.drain().number(t, "consumed"), 0, "consumed")
		wantTotals(t, p.verify(), n, conservation.Place{Output: n})
	})
}

// checkOutput compares an output record with the source record it came from.
func checkOutput(t *testing.T, r, from *kgo.Record) {
	t.Helper()
	if from == nil {
		return // conservation has reported it
	}
	id := string(from.Key)
	expect.That(t, string(r.Key) == id, "output key %q, want %q", r.Key, id)
	var out struct {
		Type       string
		Geometry   struct{ Coordinates []float64 }
		Properties map[string]any
	}
	if err := json.Unmarshal(r.Value, &out); err != nil {
		t.Errorf("output of %s is not JSON: %v", id, err)
		return
	}
	want := map[string]any{"id": id, "level": float64(3), "place_name": misbehave.PlaceName(id)}
	for key, value := range want {
		if out.Properties[key] != value {
			t.Errorf("output of %s: %s is %v, want %v", id, key, out.Properties[key], value)
		}
	}
	expect.That(t, out.Type == "Feature" && len(out.Geometry.Coordinates) == 2 && out.Geometry.Coordinates[0] == 11.5, "output of %s: %s", id, r.Value)
	for _, key := range []string{"switchback-content-hash", "switchback-feature-id", "switchback-pipeline"} {
		_, n := topiclog.Header(r, key)
		expect.That(t, n == 1, "output of %s has %d headers %s, want 1", id, n, key)
	}
	for _, want := range from.Headers {
		value, n := topiclog.Header(r, want.Key)
		expect.That(t, n == 1 && value == string(want.Value), "output of %s: producer header %s is %q, %d times", id, want.Key, value, n)
	}
}

// S0-11, S0-7, S1-7: every decision about a record is one audit event and one
// structured log line, in the order in which they were made.
func TestDecisionsAreTold_S0_11_S0_7_S1_7(t *testing.T) {
	beside(t, testrun.Fast)
	p := newPipe(t, time.Minute, func(s *settings) { s.MaxAttempts = 3 }).ensure()
	p.places.Script("once", misbehave.Status(503))
	p.places.Script("gone", misbehave.Status(404))
	p.places.Script("down", misbehave.Times(9, misbehave.Status(503))...)
	want := map[string][]string{
		"well": {"delivered handled"},
		"once": {"retried transient_failure", "delivered handled"},
		"gone": {"dead_lettered row_failure"},
		"down": {"retried transient_failure", "retried transient_failure", "dead_lettered retries_exhausted"},
	}
	positions := map[string]string{}
	for id := range want {
		positions[topiclog.Position(p.send(id)[0])] = id
	}
	consumer := p.start("it", "--until-end")
	r := consumer.Wait(p.ctx, t)
	must.That(t, r.Code == 0, "consumer run --until-end: %s", r)
	account := p.verify()
	logged := decisions(t, consumer.Stderr.String())
	for position, id := range positions {
		var audited []string
		for _, e := range p.audited(id) {
			audited = append(audited, e.Decision+" "+e.Reason)
			expect.That(t, e.Source == position, "an audit event of %s speaks of %s", position, e.Source)
		}
		if !slices.Equal(audited, want[id]) {
			t.Errorf("%s: audited %q, want %q\n%s", id, audited, want[id], account.Journey(position))
		}
		// A delivery at the first attempt is no news, unless the log is asked for it.
		if id != "well" && !slices.Equal(logged[position], want[id]) {
			t.Errorf("%s: logged %q, want %q", id, logged[position], want[id])
		}
	}
}

// decisions are the logged ones by input record.
func decisions(t *testing.T, log string) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for line := range strings.Lines(log) {
		var l struct {
			Time                          time.Time
			Msg, Source, Decision, Reason string
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Errorf("a log line is not JSON: %v: %s", err, line)
			continue
		}
		if l.Msg == "decision" {
			out[l.Source] = append(out[l.Source], l.Decision+" "+l.Reason)
		}
		expect.That(t, !l.Time.IsZero(), "a log line has no time: %s", line)
	}
	return out
}

// Guarantee 5 (architecture, section 1), S3-1: what an event that waits in a tier
// does once a later one of its key has been read, by the mode of the pipeline.
func TestOrder_S3_1(t *testing.T) {
	beside(t, testrun.Proof)
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
			got := p.levels()
			expect.That(t, slices.Equal(got, want.levels), "outputs have levels %v, want %v", got, want.levels)
		})
	}
}

// S2-9, S0-6: an event that says what its key's last one said is closed as a
// duplicate; A, B, A are three changes.
func TestDuplicate_S2_9_S0_6(t *testing.T) {
	beside(t, testrun.Proof)
	p := newPipe(t, time.Minute).ensure()
	for _, level := range []int{1, 1, 2, 2, 2, 1} {
		p.sendRecords(&kgo.Record{Topic: p.topics.Source, Key: []byte("f"), Value: []byte(featureAt("f", level))})
	}
	s := p.drain().balances(t)
	expect.Equal(t, s.number(t, "duplicates"), 3, "summary")
	wantTotals(t, p.verify(), 6, conservation.Place{Output: 3, Closed: 3})
	got := p.levels()
	expect.That(t, slices.Equal(got, []int{1, 2, 1}), "outputs have levels %v, want 1, 2, 1", got)
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
		must.Do(p.t, json.Unmarshal(r.Value, &f))
		out = append(out, f.Properties.Level)
	}
	return out
}
