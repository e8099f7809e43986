package integration

import (
	"bytes"
	"encoding/json"
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

// S4-2, C-3, S0-5: what a service answers is transient, and waits in a tier, or permanent, and goes to the DLQ at once; attempts that are
// used up end there, too.
func TestAnswers_S4_2_C3_S0_5(t *testing.T) {
	beside(t, testrun.Fast)
	p := newPipe(t, time.Minute, func(s *settings) { s.Timeout, s.MaxAttempts = "3s", 3 }).ensure()
	kinds := map[string]struct {
		answers []misbehave.Answer
		code    string
		attempt string // of the dead letter; empty for one that is delivered
	}{
		"429":     {[]misbehave.Answer{misbehave.Status(429)}, "http_too_many_requests", ""},
		"502":     {[]misbehave.Answer{misbehave.Status(502)}, "http_bad_gateway", ""},
		"503":     {[]misbehave.Answer{misbehave.Status(503)}, "http_unavailable", ""},
		"504":     {[]misbehave.Answer{misbehave.Status(504)}, "http_gateway_timeout", ""},
		"reset":   {[]misbehave.Answer{{Reset: true}}, "connection_reset", ""},
		"timeout": {[]misbehave.Answer{{Status: 200, Hold: make(chan struct{})}}, "timeout", ""},
		"400":     {misbehave.Times(50, misbehave.Status(400)), "http_bad_request", "1"},
		"401":     {misbehave.Times(50, misbehave.Status(401)), "http_unauthorized", "1"},
		"403":     {misbehave.Times(50, misbehave.Status(403)), "http_forbidden", "1"},
		"404":     {misbehave.Times(50, misbehave.Status(404)), "http_not_found", "1"},
		"500":     {misbehave.Times(50, misbehave.Status(500)), "http_server_error", "1"},
		"down":    {misbehave.Times(50, misbehave.Status(503)), "http_unavailable", "3"},
	}
	tail := p.log.Tail(t, p.topics.Tiers...)
	for id, k := range kinds {
		p.places.Script(id, k.answers...)
		p.send(id)
	}
	p.drain().balances(t)
	seen := tail.UntilCount(p.ctx, t, "a tier record of each transient kind, and two of the one that is dead", 8)
	wantTotals(t, p.verify(seen...), len(kinds), conservation.Place{Output: 6, Letters: 6})
	p.neverEarly(seen)
	p.wantGaps("down", p.set.Tiers[:2]...)
	for _, r := range append(seen, p.read(p.topics.DLQ)...) {
		k := kinds[string(r.Key)]
		wantHeaders(t, r, map[string]string{"switchback-error-code": k.code, "switchback-error-stage": "enrich"})
		if r.Topic != p.topics.DLQ {
			continue
		}
		wantHeaders(t, r, map[string]string{"switchback-attempt": k.attempt, "switchback-feature-id": string(r.Key)})
		if k.attempt == "1" {
			p.wantGaps(string(r.Key))
		}
	}
	last := p.audited("down")
	expect.That(t, last[len(last)-1].Decision == "dead_lettered" && last[len(last)-1].Reason == "retries_exhausted", "audit events of the one that is dead: %+v", last)
}

// wantHeaders compares headers, each of which has to be there once.
func wantHeaders(t *testing.T, r *kgo.Record, want map[string]string) {
	t.Helper()
	for key, text := range want {
		if got, n := topiclog.Header(r, key); got != text || n != 1 {
			t.Errorf("header %s is %q, %d times, want %q:\n%s", key, got, n, text, topiclog.Describe(r))
		}
	}
}

// event is what tests read of an audit event.
type event struct{ Decision, Reason, Code, Source string }

// audited are the audit events of one key, in their order.
func (p *pipe) audited(key string) []event {
	p.t.Helper()
	var out []event
	for _, r := range byKey(p.read(p.topics.Audit))[key] {
		var e event
		if err := json.Unmarshal(r.Value, &e); err != nil {
			p.t.Fatalf("audit event %s: %v", topiclog.Position(r), err)
		}
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

// S0-5, C-3: whatever comes in, it is a dead letter with code, message and the
// original bytes, and the flow goes on.
func TestBadInput_C3_S0_5(t *testing.T) {
	beside(t, testrun.Proof)
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
	wantTotals(t, account, len(badInputs)+4, conservation.Place{Output: 2, Letters: len(badInputs) + 2})
	letters := map[string]*kgo.Record{}
	for _, r := range p.read(p.topics.DLQ) {
		from, _ := topiclog.Header(r, "switchback-source")
		letters[from] = r
	}
	for from, i := range want {
		t.Run(badInputs[i].name, func(t *testing.T) { checkLetter(t, letters[from], badInputs[i].code, badInputs[i].stage) })
	}
	t.Run("null_key", func(t *testing.T) { checkLetter(t, letters[topiclog.Position(nullKey)], "null_key", "gate") })
	t.Run("malformed_control_header", func(t *testing.T) {
		checkLetter(t, letters[topiclog.Position(forged)], "malformed_header", "header")
	})
}

func checkLetter(t *testing.T, letter *kgo.Record, code, stage string) {
	t.Helper()
	must.That(t, letter != nil, "no dead letter")
	wantHeaders(t, letter, map[string]string{"switchback-error-code": code, "switchback-error-stage": stage})
	message, _ := topiclog.Header(letter, "switchback-error-message")
	expect.That(t, message != "" && len(message) <= 1024, "the error message has %d bytes: %q", len(message), message)
}

// A tombstone is a legal delete and passes through. With null_keys: accept, a record without a key flows like any other.
func TestTombstone_C1(t *testing.T) {
	beside(t, testrun.Fast)
	p := newPipe(t, time.Minute, func(s *settings) { s.NullKeys = "accept" }).ensure()
	p.send("gone")
	p.sendRecords(&kgo.Record{Topic: p.topics.Source, Key: []byte("gone"), Value: nil}, &kgo.Record{Topic: p.topics.Source, Value: []byte(feature("nk"))})
	p.drain().balances(t)
	wantTotals(t, p.verify(), 3, conservation.Place{Output: 3})
	out := byKey(p.read(p.topics.Output))["gone"]
	expect.That(t, len(out) == 2 && out[0].Value != nil && out[1].Value == nil, "want a feature and its tombstone: %d records", len(out))
	expect.Equal(t, len(p.places.Arrivals("gone")), 1, "requests")
}
