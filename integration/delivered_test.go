package integration

import (
	"bytes"
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
	parallel(t, testrun.Proof)
	p := newPipe(t, time.Minute).ensure()
	const n = 300
	sent := p.send(ids("f", n)...)
	s := p.drain().wantBalanced(t)
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

// checkOutput compares an output record with its source record.
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
		expect.That(t, out.Properties[key] == value, "output of %s: %s is %v, want %v", id, key, out.Properties[key], value)
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

// Guarantee 5 (architecture, section 1), S3-1: when a later event of its key has been read, the ordering mode decides
// about an event that waits in a tier.
func TestOrder_S3_1(t *testing.T) {
	parallel(t, testrun.Proof)
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
				p.sendAt(level, "f")
			}
			p.drain().wantBalanced(t)
			wantTotals(t, p.verify(), 2, want.totals)
			got := p.levels()
			expect.That(t, slices.Equal(got, want.levels), "outputs have levels %v, want %v", got, want.levels)
		})
	}
}

// S2-9, S0-6: an event whose content equals the last one of its key is closed as a duplicate. A, B, A are three changes.
func TestDuplicate_S2_9_S0_6(t *testing.T) {
	parallel(t, testrun.Proof)
	p := newPipe(t, time.Minute).ensure()
	for _, level := range []int{1, 1, 2, 2, 2, 1} {
		p.sendAt(level, "f")
	}
	s := p.drain().wantBalanced(t)
	expect.Equal(t, s.number(t, "duplicates"), 3, "summary")
	wantTotals(t, p.verify(), 6, conservation.Place{Output: 3, Closed: 3})
	got := p.levels()
	expect.That(t, slices.Equal(got, []int{1, 2, 1}), "outputs have levels %v, want 1, 2, 1", got)
	t.Run("after_a_restart", func(t *testing.T) {
		p.sendAt(1, "f")
		p.drain().wantBalanced(t)
		wantTotals(t, p.verify(), 7, conservation.Place{Output: 3, Closed: 4})
	})
}

// levels returns the levels of the outputs, in their order.
func (p *pipe) levels() []int {
	p.t.Helper()
	var out []int
	for _, r := range p.read(p.topics.Output) {
		out = append(out, levelOf(p.t, r))
	}
	return out
}

// wantHeaders compares headers. Each header must occur once.
func wantHeaders(t *testing.T, r *kgo.Record, want map[string]string) {
	t.Helper()
	for key, text := range want {
		got, n := topiclog.Header(r, key)
		expect.That(t, got == text && n == 1, "header %s is %q, %d times, want %q:\n%s", key, got, n, text, topiclog.Describe(r))
	}
}

// event has the fields of an audit event that tests read.
type event struct{ Decision, Reason, Code, Source string }

// auditEvents returns the audit events of one key, in their order.
func (p *pipe) auditEvents(key string) []event {
	p.t.Helper()
	var out []event
	for _, r := range byKey(p.read(p.topics.Audit))[key] {
		var e event
		err := json.Unmarshal(r.Value, &e)
		must.That(p.t, err == nil, "audit event %s: %v", topiclog.Position(r), err)
		out = append(out, e)
	}
	return out
}

// badInputs are records that must become dead letters with this code and stage.
var badInputs = []struct {
	name  string
	value []byte
	key   []byte
	code  string
	stage string
}{
	{"S0-8_not_JSON", []byte("<Feature/>"), nil, "not_json", "decode"},
	{"S0-8_binary", []byte{0xff, 0xfe, 0x00, 0x01}, nil, "invalid_utf8", "decode"},
	{"S0-8_truncated_JSON", []byte(feature("t"))[:60], nil, "truncated_json", "decode"},
	{"S0-8_trailing_data", []byte(feature("t") + "{}"), nil, "trailing_data", "decode"},
	{"S0-8_duplicate_key", []byte(`{"type":"Feature","type":"Feature","geometry":null,"properties":{"id":"d"}}`), nil, "duplicate_key", "decode"},
	{"S0-8_not_UTF-8", []byte("{\"type\":\"Feature\",\"geometry\":null,\"properties\":{\"id\":\"\xff\"}}"), nil, "invalid_utf8", "decode"},
	{"S0-8_not_a_feature", []byte(`{"type":"Point","coordinates":[1,2]}`), nil, "not_a_feature", "decode"},
	{"S0-8_unclosed_ring", []byte(`{"type":"Feature","geometry":{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,1]]]},"properties":{"id":"u"}}`), nil, "geometry_structure", "decode"},
	{"S0-8_invalid_geometry", []byte(`{"type":"Feature","geometry":{"type":"Polygon","coordinates":[[[0,0],[1,1],[1,0],[0,1],[0,0]]]},"properties":{"id":"b"}}`), nil, "geometry_invalid", "gate"},
	{"S1-4_unknown_CRS", []byte(`{"type":"Feature","crs":{"type":"name","properties":{"name":"urn:ogc:def:crs:EPSG::99999"}},"geometry":{"type":"Point","coordinates":[1,2]},"properties":{"id":"c"}}`), nil, "unknown_crs", "gate"},
	{"S1-2_missing_required", []byte(`{"type":"Feature","geometry":null,"properties":{}}`), nil, "missing_required", "transform"},
	{"S0-10_wrong_type", []byte(`{"type":"Feature","geometry":null,"properties":{"id":"w","level":"high"}}`), nil, "coercion_failed", "transform"},
	{"S0-8_wrong_type_of_properties", []byte(`{"type":"Feature","geometry":null,"properties":[1]}`), nil, "wrong_type", "decode"},
	{"S0-8_empty_value", []byte{}, nil, "empty_value", "decode"},
	{"S0-5_10_MB", append(bytes.Repeat([]byte(" "), 10<<20), feature("big")...), nil, "record_too_large", "gate"},
}

// S0-5, C-3: every bad input becomes a dead letter with code, message and the original bytes, and later records are
// delivered.
func TestBadInput_C3_S0_5(t *testing.T) {
	parallel(t, testrun.Proof)
	p := newPipe(t, time.Minute).ensure()
	want := map[string]int{} // index into badInputs by position
	for i, in := range badInputs {
		r := p.sendRecords(&kgo.Record{Topic: p.topics.Source, Key: []byte(in.name), Value: in.value})[0]
		want[topiclog.Position(r)] = i
	}
	p.send("before-null-key")
	nullKey := p.sendRecords(&kgo.Record{Topic: p.topics.Source, Value: []byte(feature("nk"))})[0]
	forged := p.sendRecords(&kgo.Record{Topic: p.topics.Source, Key: []byte("forged"), Value: []byte(feature("forged")),
		Headers: []kgo.RecordHeader{{Key: "switchback-attempt", Value: []byte("many")}}})[0]
	p.send("last")
	p.drain()

	account := p.verify()
	wantTotals(t, account, len(badInputs)+4, conservation.Place{Output: 2, DeadLetters: len(badInputs) + 2})
	deadLetters := map[string]*kgo.Record{}
	for _, r := range p.read(p.topics.DLQ) {
		from, _ := topiclog.Header(r, "switchback-source")
		deadLetters[from] = r
	}
	for from, i := range want {
		t.Run(badInputs[i].name, func(t *testing.T) { checkDeadLetter(t, deadLetters[from], badInputs[i].code, badInputs[i].stage) })
	}
	t.Run("null_key", func(t *testing.T) { checkDeadLetter(t, deadLetters[topiclog.Position(nullKey)], "null_key", "gate") })
	t.Run("malformed_control_header", func(t *testing.T) {
		checkDeadLetter(t, deadLetters[topiclog.Position(forged)], "malformed_header", "header")
	})
}

func checkDeadLetter(t *testing.T, deadLetter *kgo.Record, code, stage string) {
	t.Helper()
	must.That(t, deadLetter != nil, "no dead letter")
	wantHeaders(t, deadLetter, map[string]string{"switchback-error-code": code, "switchback-error-stage": stage})
	message, _ := topiclog.Header(deadLetter, "switchback-error-message")
	expect.That(t, message != "" && len(message) <= 1024, "the error message has %d bytes: %q", len(message), message)
}

// S0-11, S0-7, S1-7: every decision about a record is one audit event and one structured log line, in the order of the
// decisions.
func TestDecisionsAreTold_S0_11_S0_7_S1_7(t *testing.T) {
	parallel(t, testrun.Fast)
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
		var auditEvents []string
		for _, e := range p.auditEvents(id) {
			auditEvents = append(auditEvents, e.Decision+" "+e.Reason)
			expect.That(t, e.Source == position, "an audit event of %s has the source %s", position, e.Source)
		}
		expect.That(t, slices.Equal(auditEvents, want[id]), "%s: audited %q, want %q\n%s", id, auditEvents, want[id], account.Journey(position))
		// A delivery at the first attempt is logged only at level debug.
		expect.That(t, id == "well" || slices.Equal(logged[position], want[id]), "%s: logged %q, want %q", id, logged[position], want[id])
	}
}

// decisions returns the logged decisions by source position.
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
