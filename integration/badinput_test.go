package integration

import (
	"bytes"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/conservation"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/internal/testkit/topiclog"
	"github.com/twmb/franz-go/pkg/kgo"
)

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
	testrun.Proof(t)
	t.Parallel()
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
	testrun.Fast(t)
	t.Parallel()
	p := newPipe(t, time.Minute, func(s *settings) { s.NullKeys = "accept" }).ensure()
	p.send("gone")
	p.sendRecords(&kgo.Record{Topic: p.topics.Source, Key: []byte("gone"), Value: nil}, &kgo.Record{Topic: p.topics.Source, Value: []byte(feature("nk"))})
	p.drain().balances(t)
	wantTotals(t, p.verify(), 3, conservation.Place{Output: 3})
	out := byKey(p.read(p.topics.Output))["gone"]
	expect.That(t, len(out) == 2 && out[0].Value != nil && out[1].Value == nil, "want a feature and its tombstone: %d records", len(out))
	if n := len(p.places.Arrivals("gone")); n != 1 {
		t.Errorf("%d requests, want 1: a tombstone needs no enrichment", n)
	}
}
