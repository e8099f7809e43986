package integration

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/conservation"
	"github.com/switchback-geo/switchback/internal/testkit/misbehave"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/internal/testkit/topiclog"
	"github.com/twmb/franz-go/pkg/kgo"
)

// C-2, S0-4: a transient failure goes to the tier of its attempt and is
// delivered from there, never before it is due.
func TestTransient_C2_S0_4(t *testing.T) {
	testrun.Proof(t)
	t.Parallel()
	p := newPipe(t, time.Minute).ensure()
	failures := map[string]int{"never": 0, "once": 1, "twice": 2, "thrice": 3, "four-times": 4}
	for id, n := range failures {
		p.places.Script(id, misbehave.Times(n, misbehave.Status(503))...)
	}
	tail := p.log.Tail(t, p.topics.Tiers...)
	p.send("never", "once", "twice", "thrice", "four-times")
	s := p.drain().balances(t)
	seen := tail.UntilCount(p.ctx, t, "the tier records of all failures", 10)
	wantTotals(t, p.verify(seen...), len(failures), conservation.Place{Output: len(failures)})
	if got := s.number(t, "retried"); got != 10 {
		t.Errorf("summary: retried %d, want 10", got)
	}
	if n := p.neverEarly(seen); n != 10 {
		t.Errorf("%d tier records, want 10", n)
	}
	// Attempt n goes to tier n, and to the last one beyond that.
	visits := map[string][]string{}
	for _, r := range seen {
		visits[string(r.Key)] = append(visits[string(r.Key)], r.Topic)
	}
	route := append(slices.Clone(p.topics.Tiers), p.topics.Tiers[2])
	waits := append(slices.Clone(p.set.Tiers), p.set.Tiers[2])
	for id, n := range failures {
		if !slices.Equal(visits[id], route[:n]) {
			t.Errorf("%s waited in %v, want %v", id, visits[id], route[:n])
		}
		p.wantGaps(id, waits[:n]...)
	}
	for _, r := range p.read(p.topics.Output) {
		attempts, n := topiclog.Header(r, "switchback-attempt")
		if want := failures[string(r.Key)]; (want == 0) != (n == 0) || (want > 0 && attempts != strconv.Itoa(want+1)) {
			t.Errorf("%s: attempts %q, %d headers, after %d failures", r.Key, attempts, n, want)
		}
	}
}

// C-2: the attempt headers, as text, on the way through the tiers.
func TestTierHeaders_C2(t *testing.T) {
	testrun.Fast(t)
	t.Parallel()
	p := newPipe(t, time.Minute).ensure()
	p.places.Script("f", misbehave.Times(2, misbehave.Status(503))...)
	tail := p.log.Tail(t, p.topics.Tiers...)
	sent := p.send("f")[0]
	p.drain()
	seen := tail.UntilCount(p.ctx, t, "two tier records", 2)
	for i, r := range seen {
		for key, want := range map[string]string{
			"switchback-attempt": strconv.Itoa(i + 1), "switchback-max-attempts": "5",
			"switchback-error-class": "retry_backoff", "switchback-error-code": "http_unavailable", "switchback-error-stage": "enrich",
			"switchback-source": topiclog.Position(sent), "switchback-pipeline": p.set.ID,
			"switchback-source-timestamp": sent.Timestamp.UTC().Format("2006-01-02T15:04:05.000Z"),
		} {
			if got, n := topiclog.Header(r, key); got != want || n != 1 {
				t.Errorf("tier record %d: %s is %q, %d times, want %q", i+1, key, got, n, want)
			}
		}
		due, failed := headerTime(t, r, "switchback-due"), headerTime(t, r, "switchback-failed-at")
		if wait := due.Sub(failed); wait < p.set.Tiers[i]-time.Millisecond {
			t.Errorf("tier record %d is due %v after its failure, want %v", i+1, wait, p.set.Tiers[i])
		}
	}
	if a, b := headerTime(t, seen[0], "switchback-first-failed-at"), headerTime(t, seen[1], "switchback-first-failed-at"); !a.Equal(b) {
		t.Errorf("the first failure moved from %v to %v", a, b)
	}
	if t.Failed() {
		t.Log(p.verify(seen...).Journey(topiclog.Position(sent)))
	}
}

// S4-2, C-2: what counts as transient, seen from outside.
func TestTransientKinds_S4_2(t *testing.T) {
	testrun.Fast(t)
	t.Parallel()
	p := newPipe(t, time.Minute, func(s *settings) { s.Timeout = "3s" }).ensure()
	kinds := map[string]struct {
		answer misbehave.Answer
		code   string
	}{
		"429":     {misbehave.Status(429), "http_too_many_requests"},
		"502":     {misbehave.Status(502), "http_bad_gateway"},
		"503":     {misbehave.Status(503), "http_unavailable"},
		"504":     {misbehave.Status(504), "http_gateway_timeout"},
		"reset":   {misbehave.Answer{Reset: true}, "connection_reset"},
		"timeout": {misbehave.Answer{Status: 200, Hold: make(chan struct{})}, "timeout"},
	}
	for id, k := range kinds {
		p.places.Script(id, k.answer)
		p.send(id)
	}
	tail := p.log.Tail(t, p.topics.Tiers...)
	p.drain()
	seen := tail.UntilCount(p.ctx, t, "a tier record of each kind", len(kinds))
	wantTotals(t, p.verify(seen...), len(kinds), conservation.Place{Output: len(kinds)})
	for _, r := range seen {
		if code, _ := topiclog.Header(r, "switchback-error-code"); code != kinds[string(r.Key)].code {
			t.Errorf("%s: code %q, want %q\n%s", r.Key, code, kinds[string(r.Key)].code, topiclog.Describe(r))
		}
	}
	p.neverEarly(seen)
}

// S1-6: Retry-After overrides the computed delay; beyond the longest tier the
// record is parked, which is no attempt.
func TestRetryAfter_S1_6(t *testing.T) {
	testrun.Fast(t)
	t.Parallel()
	p := newPipe(t, time.Minute, func(s *settings) { s.RetryAfterLimit = "3s" }).ensure()
	after := func(value string) misbehave.Answer { return misbehave.Answer{Status: 429, RetryAfter: value} }
	p.places.Script("within", after("1"))
	p.places.Script("beyond", after("3"))
	p.places.Script("absurd", after("864000")) // ten days: cut to the limit
	p.places.Script("on-503", misbehave.Answer{Status: 503, RetryAfter: "1"})
	tail := p.log.Tail(t, p.topics.Tiers...)
	p.send("within", "beyond", "absurd", "on-503")
	p.drain().balances(t)
	seen := tail.Until(p.ctx, t, "the tier records of all, and of those that were parked", func(seen []*kgo.Record) bool {
		waits := byKey(seen)
		return len(waits["within"]) > 0 && len(waits["on-503"]) > 0 && len(waits["beyond"]) > 1 && len(waits["absurd"]) > 1
	})
	wantTotals(t, p.verify(seen...), 4, conservation.Place{Output: 4})
	p.wantGaps("within", time.Second)
	p.wantGaps("on-503", time.Second)
	p.wantGaps("beyond", 3*time.Second)
	p.wantGaps("absurd", 3*time.Second)
	p.neverEarly(seen)

	parked := map[string]int{}
	for _, r := range seen {
		parked[string(r.Key)]++
		if attempts, _ := topiclog.Header(r, "switchback-attempt"); attempts != "1" {
			t.Errorf("parking counted as an attempt: %s", topiclog.Describe(r))
		}
		if longest := p.topics.Tiers[2]; r.Topic != longest {
			t.Errorf("%s waits in %s, want %s", r.Key, r.Topic, longest)
		}
	}
	if parked["within"] != 1 {
		t.Errorf("tier records %v, want 1 of within", parked)
	}
	for _, r := range p.read(p.topics.Output) {
		if attempts, _ := topiclog.Header(r, "switchback-attempt"); attempts != "2" {
			t.Errorf("%s took %q attempts, want 2", r.Key, attempts)
		}
	}
}

// Guarantee 4 under many records at once: none of them is tried too early, and
// one that waits long does not hold up another.
func TestNeverEarly_S3_1(t *testing.T) {
	testrun.Proof(t)
	t.Parallel()
	p := newPipe(t, 90*time.Second).ensure()
	const n = 200
	all := ids("e", n)
	for i, id := range all {
		p.places.Script(id, misbehave.Times(1+i%3, misbehave.Status(503))...)
	}
	tail := p.log.Tail(t, p.topics.Tiers...)
	p.send(all...)
	p.drain()
	want := 0
	for i := range n {
		want += 1 + i%3
	}
	seen := tail.UntilCount(p.ctx, t, "every tier record", want)
	wantTotals(t, p.verify(seen...), n, conservation.Place{Output: n})
	if got := p.neverEarly(seen); got != want {
		t.Errorf("%d tier records, want %d", got, want)
	}
	for i, id := range all {
		p.wantGaps(id, p.set.Tiers[:1+i%3]...)
	}
}

// byKey sorts records under their keys.
func byKey(records []*kgo.Record) map[string][]*kgo.Record {
	out := map[string][]*kgo.Record{}
	for _, r := range records {
		out[string(r.Key)] = append(out[string(r.Key)], r)
	}
	return out
}
