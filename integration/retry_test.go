package integration

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/conservation"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
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
	sent := map[string]*kgo.Record{}
	for _, r := range p.send("never", "once", "twice", "thrice", "four-times") {
		sent[string(r.Key)] = r
	}
	s := p.drain().balances(t)
	seen := tail.UntilCount(p.ctx, t, "the tier records of all failures", 10)
	wantTotals(t, p.verify(seen...), len(failures), conservation.Place{Output: len(failures)})
	if got := s.number(t, "retried"); got != 10 {
		t.Errorf("summary: retried %d, want 10", got)
	}
	if n := p.neverEarly(seen); n != 10 {
		t.Errorf("%d tier records, want 10", n)
	}
	// Attempt n goes to tier n, and to the last one beyond that. Each says so in its headers, as text.
	visits := map[string][]string{}
	for _, r := range seen {
		id := string(r.Key)
		visits[id] = append(visits[id], r.Topic)
		wantHeaders(t, r, map[string]string{
			"switchback-attempt": strconv.Itoa(len(visits[id])), "switchback-max-attempts": "5", "switchback-pipeline": p.set.ID,
			"switchback-error-class": "retry_backoff", "switchback-error-code": "http_unavailable", "switchback-error-stage": "enrich",
			"switchback-source": topiclog.Position(sent[id]), "switchback-source-timestamp": sent[id].Timestamp.UTC().Format("2006-01-02T15:04:05.000Z"),
		})
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
		key := string(r.Key)
		parked[key]++
		if attempts, _ := topiclog.Header(r, "switchback-attempt"); attempts != "1" {
			t.Errorf("parking counted as an attempt: %s", topiclog.Describe(r))
		}
		if longest := p.topics.Tiers[2]; parked[key] == 1 && r.Topic != longest { // what is left on a slow machine may be short
			t.Errorf("%s waits in %s first, want %s", key, r.Topic, longest)
		}
	}
	expect.That(t, parked["within"] == 1, "tier records %v, want 1 of within", parked)
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
