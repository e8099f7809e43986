package integration

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/conservation"
	"github.com/switchback-geo/switchback/internal/testkit/misbehave"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/internal/testkit/topiclog"
	"github.com/twmb/franz-go/pkg/kgo"
)

// S4-2, C-3, S0-5: what a service answers is transient, and waits in a tier, or permanent, and goes to the DLQ at once; attempts that are
// used up end there, too.
func TestAnswers_S4_2_C3_S0_5(t *testing.T) {
	testrun.Fast(t)
	t.Parallel()
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
	if last := p.audited("down"); last[len(last)-1].Decision != "dead_lettered" || last[len(last)-1].Reason != "retries_exhausted" {
		t.Errorf("audit events of the one that is dead: %+v", last)
	}
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
