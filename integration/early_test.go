package integration

import (
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/topiclog"
	"github.com/twmb/franz-go/pkg/kgo"
)

// neverEarly proves with the service's own clock readings that no attempt was
// made between a failure and the due time that its tier record carries
// (architecture, section 1, guarantee 4). It returns how many tier records it
// held against arrivals, so that a test can tell that it proved something.
func (p *pipe) neverEarly(tierRecords []*kgo.Record) int {
	p.t.Helper()
	for _, r := range tierRecords {
		failed, due := headerTime(p.t, r, "switchback-failed-at"), headerTime(p.t, r, "switchback-due")
		failed = failed.Add(time.Millisecond) // the header has whole milliseconds, cut off
		for i, at := range p.places.Arrivals(string(r.Key)) {
			if at.After(failed) && at.Before(due) {
				p.t.Errorf("request %d for %s came %v before it was due:\n%s", i+1, r.Key, due.Sub(at), topiclog.Describe(r))
			}
		}
	}
	return len(tierRecords)
}

// headerTime reads a time as the contract writes it: RFC 3339 in UTC.
func headerTime(t *testing.T, r *kgo.Record, key string) time.Time {
	t.Helper()
	text, n := topiclog.Header(r, key)
	at, err := time.Parse(time.RFC3339, text)
	if n != 1 || err != nil || at.Location() != time.UTC {
		t.Fatalf("header %s is %q, %d times, want one RFC 3339 time in UTC (%v):\n%s", key, text, n, err, topiclog.Describe(r))
	}
	return at
}

// wantGaps holds the times between a key's requests against the delays that must
// lie between them. The times are differences of one monotonic clock.
func (p *pipe) wantGaps(key string, delays ...time.Duration) {
	p.t.Helper()
	arrivals := p.places.Arrivals(key)
	if len(arrivals) != len(delays)+1 {
		p.t.Errorf("%d requests for %s, want %d", len(arrivals), key, len(delays)+1)
		return
	}
	for i, want := range delays {
		if gap := arrivals[i+1].Sub(arrivals[i]); gap < want {
			p.t.Errorf("request %d for %s came %v after the one before, want at least %v", i+2, key, gap, want)
		}
	}
}
