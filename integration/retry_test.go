package integration

import (
	"slices"
	"strconv"
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

// C-2, S0-4: a transient failure goes to the tier of its attempt and is delivered from there, never before it is due.
func TestTransient_C2_S0_4(t *testing.T) {
	parallel(t, testrun.Proof)
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
	s := p.drain().wantBalanced(t)
	seen := tail.UntilCount(p.ctx, t, "the tier records of all failures", 10)
	wantTotals(t, p.verify(seen...), len(failures), conservation.Place{Output: len(failures)})
	expect.Equal(t, s.number(t, "retried"), 10, "summary: retried")
	expect.Equal(t, p.wantNoneEarly(seen), 10, "tier records")
	// Attempt n goes to tier n, and later attempts to the last tier. The headers contain this as text.
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
		expect.That(t, slices.Equal(visits[id], route[:n]), "%s waited in %v, want %v", id, visits[id], route[:n])
		p.wantGaps(id, waits[:n]...)
	}
	for _, r := range p.read(p.topics.Output) {
		attempts, n := topiclog.Header(r, "switchback-attempt")
		want := failures[string(r.Key)]
		expect.That(t, (want == 0) == (n == 0) && (want <= 0 || attempts == strconv.Itoa(want+1)), "%s: attempts %q, %d headers, after %d failures", r.Key, attempts, n, want)
	}
}

// byKey groups records by key.
func byKey(records []*kgo.Record) map[string][]*kgo.Record {
	out := map[string][]*kgo.Record{}
	for _, r := range records {
		out[string(r.Key)] = append(out[string(r.Key)], r)
	}
	return out
}

// wantNoneEarly checks with the clock of the service that no attempt was made between a failure and the due time in
// its tier record (architecture, section 1, guarantee 4). It returns the number of checked tier records, so that a
// test can check that it proved something.
func (p *pipe) wantNoneEarly(tierRecords []*kgo.Record) int {
	p.t.Helper()
	for _, r := range tierRecords {
		failed, due := headerTime(p.t, r, "switchback-failed-at"), headerTime(p.t, r, "switchback-due")
		failed = failed.Add(time.Millisecond) // the header is truncated to milliseconds
		for i, at := range p.places.Arrivals(string(r.Key)) {
			expect.That(p.t, !at.After(failed) || !at.Before(due), "request %d for %s came %v before it was due:\n%s", i+1, r.Key, due.Sub(at), topiclog.Describe(r))
		}
	}
	return len(tierRecords)
}

// headerTime parses a time header: RFC 3339 in UTC.
func headerTime(t *testing.T, r *kgo.Record, key string) time.Time {
	t.Helper()
	text, n := topiclog.Header(r, key)
	at, err := time.Parse(time.RFC3339, text)
	must.That(t, n == 1 && err == nil && at.Location() == time.UTC, "header %s is %q, %d times, want one RFC 3339 time in UTC (%v):\n%s", key, text, n, err, topiclog.Describe(r))
	return at
}

// wantGaps checks that at least these delays lie between the requests for a key. It compares readings of one monotonic
// clock.
func (p *pipe) wantGaps(key string, delays ...time.Duration) {
	p.t.Helper()
	arrivals := p.places.Arrivals(key)
	if len(arrivals) != len(delays)+1 {
		p.t.Errorf("%d requests for %s, want %d", len(arrivals), key, len(delays)+1)
		return
	}
	for i, want := range delays {
		gap := arrivals[i+1].Sub(arrivals[i])
		expect.That(p.t, gap >= want, "request %d for %s came %v after the previous one, want at least %v", i+2, key, gap, want)
	}
}

// changeTiers changes the tier list in the pipeline file and creates the topics. Later calls of verify include all
// former tiers.
func (p *pipe) changeTiers(delays ...time.Duration) {
	p.t.Helper()
	p.set.Tiers = delays
	for _, d := range delays {
		if topic := p.topics.Source + ".retry-" + d.String(); !slices.Contains(p.topics.Tiers, topic) {
			p.topics.Tiers = append(p.topics.Tiers, topic)
		}
	}
	p.write()
	p.runConsumer("topics", "ensure")
}

// tierTopic returns the name of a tier's topic.
func (p *pipe) tierTopic(delay time.Duration) string {
	return p.topics.Source + ".retry-" + delay.String()
}

// failFirst makes the service answer 503 to the first n requests for each ID.
func (p *pipe) failFirst(n int, ids ...string) {
	for _, id := range ids {
		p.places.Script(id, slices.Repeat([]misbehave.Answer{misbehave.Status(503)}, n)...)
	}
}

// S3-1: an operator deletes an empty former tier while consumers run. No consumer stops, and a bounded run ends.
func TestTiersChanged_S3_1_anEmptyFormerTierIsDeleted(t *testing.T) {
	parallel(t, testrun.Fast)
	p := newPipe(t, 2*time.Minute, tiers(200*time.Millisecond, 700*time.Millisecond)).ensure()
	former := p.tierTopic(700 * time.Millisecond)
	p.send(ids("z", 5)...)
	p.drain().wantBalanced(t)
	p.changeTiers(200 * time.Millisecond)
	running := p.start("it")
	output := p.log.Tail(t, p.topics.Output)
	p.send(ids("a", 20)...)
	output.UntilCount(p.ctx, t, "delivered before", 25)
	must.Do(t, p.log.Delete(p.ctx, former))
	b := ids("b", 20)
	p.failFirst(1, b...)
	p.send(b...)
	output.UntilCount(p.ctx, t, "delivered after", 45)
	p.stop(running)
	p.send(ids("c", 5)...)
	p.topics.Tiers = p.topics.Tiers[:1]
	p.drain().wantBalanced(t)
	wantTotals(t, p.verify(), 50, conservation.Place{Output: 50})
}

// S3-1, S0-4: a rolling deployment changes the tiers. While instances with the old and the new list share the group,
// each one drains the tiers of the other. No record is lost, delivered twice or attempted early.
func TestTiersChanged_S0_4_rollingDeploy(t *testing.T) {
	parallel(t, testrun.Proof)
	p := newPipe(t, 3*time.Minute, tiers(time.Second, 4*time.Second, 9*time.Second), shortSession, func(s *settings) {
		s.Partitions = 6
	}).ensure()
	const n = 600
	all := ids("r", n)
	for i, id := range all {
		p.failFirst(i%4, id)
	}
	one, two := p.start("one"), p.start("two")
	p.members(2)
	for part := range slices.Chunk(all[:n/2], 50) {
		p.send(part...)
	}
	p.changeTiers(time.Second, 5*time.Second)
	one.Kill()
	one = p.start("one")
	p.send(all[n/2 : 3*n/4]...)
	p.members(2)
	two.Kill()
	two = p.start("two")
	p.send(all[3*n/4:]...)
	output := p.log.Tail(t, p.topics.Output)
	output.UntilCount(p.ctx, t, "every event delivered", n)
	p.stop(one)
	p.stop(two)
	wantTotals(t, p.verify(), n, conservation.Place{Output: n})
}

// S1-6: Retry-After overrides the computed delay. A record whose delay exceeds the longest tier is parked, which does
// not count as an attempt.
func TestRetryAfter_S1_6(t *testing.T) {
	parallel(t, testrun.Fast)
	p := newPipe(t, time.Minute, func(s *settings) { s.RetryAfterLimit = "3s" }).ensure()
	after := func(value string) misbehave.Answer { return misbehave.Answer{Status: 429, RetryAfter: value} }
	p.places.Script("within", after("1"))
	p.places.Script("beyond", after("3"))
	p.places.Script("absurd", after("864000")) // ten days: cut to the limit
	p.places.Script("on-503", misbehave.Answer{Status: 503, RetryAfter: "1"})
	tail := p.log.Tail(t, p.topics.Tiers...)
	p.send("within", "beyond", "absurd", "on-503")
	p.drain().wantBalanced(t)
	seen := tail.Until(p.ctx, t, "the tier records of all, and of those that were parked", func(seen []*kgo.Record) bool {
		waits := byKey(seen)
		return len(waits["within"]) > 0 && len(waits["on-503"]) > 0 && len(waits["beyond"]) > 1 && len(waits["absurd"]) > 1
	})
	wantTotals(t, p.verify(seen...), 4, conservation.Place{Output: 4})
	p.wantGaps("within", time.Second)
	p.wantGaps("on-503", time.Second)
	p.wantGaps("beyond", 3*time.Second)
	p.wantGaps("absurd", 3*time.Second)
	p.wantNoneEarly(seen)

	parked := map[string]int{}
	for _, r := range seen {
		key := string(r.Key)
		parked[key]++
		attempts, _ := topiclog.Header(r, "switchback-attempt")
		expect.That(t, attempts == "1", "parking counted as an attempt: %s", topiclog.Describe(r))
		longest := p.topics.Tiers[2]
		expect.That(t, parked[key] != 1 || r.Topic == longest, "%s waits in %s first, want %s", key, r.Topic, longest) // on a slow machine, the remaining delay may be short
	}
	expect.That(t, parked["within"] == 1, "tier records %v, want 1 of within", parked)
	for _, r := range p.read(p.topics.Output) {
		attempts, _ := topiclog.Header(r, "switchback-attempt")
		expect.That(t, attempts == "2", "%s took %q attempts, want 2", r.Key, attempts)
	}
}
