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

// S0-5, C-3: attempts that are used up end in the DLQ.
func TestExhausted_C3_S0_5(t *testing.T) {
	testrun.Fast(t)
	t.Parallel()
	p := newPipe(t, time.Minute, func(s *settings) { s.MaxAttempts = 3 }).ensure()
	p.places.Script("down", misbehave.Times(50, misbehave.Status(503))...)
	p.send("down", "up")
	p.drain().balances(t)
	wantTotals(t, p.verify(), 2, conservation.Place{Output: 1, Letters: 1})
	p.wantGaps("down", p.set.Tiers[:2]...)
	letter := p.read(p.topics.DLQ)[0]
	wantHeaders(t, letter, map[string]string{
		"switchback-attempt": "3", "switchback-error-code": "http_unavailable", "switchback-error-class": "retry_backoff", "switchback-error-stage": "enrich",
	})
	for _, e := range p.audited("down") {
		if e.Decision == "dead_lettered" && e.Reason == "retries_exhausted" {
			return
		}
	}
	t.Errorf("no audit event says dead_lettered for retries_exhausted: %+v", p.audited("down"))
}

// C-3, S0-5: a permanent failure goes to the DLQ at once, byte for byte.
func TestPermanent_C3_S0_5(t *testing.T) {
	testrun.Fast(t)
	t.Parallel()
	p := newPipe(t, time.Minute).ensure()
	kinds := map[string]struct {
		status int
		code   string
	}{
		"400": {400, "http_bad_request"}, "401": {401, "http_unauthorized"}, "403": {403, "http_forbidden"},
		"404": {404, "http_not_found"}, "500": {500, "http_server_error"},
	}
	for id, k := range kinds {
		p.places.Script(id, misbehave.Times(50, misbehave.Status(k.status))...)
		p.send(id)
	}
	p.send("well")
	p.drain().balances(t)
	wantTotals(t, p.verify(), len(kinds)+1, conservation.Place{Output: 1, Letters: len(kinds)})
	for key, letters := range byKey(p.read(p.topics.DLQ)) {
		wantHeaders(t, letters[0], map[string]string{
			"switchback-attempt": "1", "switchback-error-code": kinds[key].code, "switchback-error-stage": "enrich", "switchback-feature-id": key,
		})
		p.wantGaps(key)
	}
}

// S2-5: a letter whose attempts are used up says what was asked, and what was answered last, in its headers and through the
// replayer; the query of the request is nowhere.
func TestExhausted_S2_5_tellsRequestAndResponse(t *testing.T) {
	testrun.Fast(t)
	t.Parallel()
	p := newPipe(t, time.Minute, func(s *settings) { s.MaxAttempts = 2 }).ensure()
	down := misbehave.Answer{Status: 503, Body: "<p>down for /place?id=letter-7", Header: map[string]string{"Content-Type": "text/html", "X-Request-Id": "7f3a"}}
	p.places.Script("letter-7", misbehave.Status(502), down)
	p.send("letter-7")
	p.drain().balances(t)
	letter := p.read(p.topics.DLQ)[0]
	wantHeaders(t, letter, map[string]string{
		"switchback-error-response": `{"status":503,"request_id":"7f3a","content_type":"text/html","body":"<p>down for /place?id=…"}`,
		"switchback-feature-id":     "letter-7", "switchback-bbox": "11.5,48.1,11.5,48.1",
	})
	var asked struct {
		Step, Method, URL string
		Took              int `json:"took_ms"`
	}
	request, _ := topiclog.Header(letter, "switchback-error-request")
	if err := json.Unmarshal([]byte(request), &asked); err != nil || asked.Step != "place" || asked.Method != "GET" || asked.URL != p.places.URL()+"/place" || asked.Took < 1 {
		t.Errorf("request %s, %v", request, err)
	}
	r := p.run("replayer", "list", "-c", p.file, "--details")
	var shown struct {
		Error struct{ Request, Response json.RawMessage }
	}
	if err := json.Unmarshal([]byte(r.Stdout), &shown); err != nil || string(shown.Error.Request) != request || len(shown.Error.Response) == 0 {
		t.Errorf("%v: %s", err, r)
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
