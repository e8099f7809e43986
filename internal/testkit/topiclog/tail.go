package topiclog

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Tail follows topics from their start with read_committed and keeps all records, including those that are deleted from
// the log afterwards: the consumer deletes the finished records of a tier.
type Tail struct {
	mu      sync.Mutex
	records []*kgo.Record
	changed chan struct{} // closed and replaced at every batch
}

// Tail starts to follow existing topics. The test's cleanup ends it.
func (c *Cluster) Tail(t testing.TB, topics ...string) *Tail {
	t.Helper()
	return c.follow(t, kgo.FetchIsolationLevel(kgo.ReadCommitted()), topics)
}

// TailUncommitted follows topics like Tail, but also returns the records of open and aborted transactions, for tests
// that interrupt an open transaction.
func (c *Cluster) TailUncommitted(t testing.TB, topics ...string) *Tail {
	t.Helper()
	return c.follow(t, kgo.FetchIsolationLevel(kgo.ReadUncommitted()), topics)
}

func (c *Cluster) follow(t testing.TB, isolation kgo.Opt, topics []string) *Tail {
	t.Helper()
	cl, err := kgo.NewClient(append(c.readerOptions(), isolation, kgo.ConsumeTopics(topics...))...)
	if err != nil {
		t.Fatalf("follow %v: %v", topics, err)
	}
	tail := &Tail{changed: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() {
		for ctx.Err() == nil {
			tail.add(cl.PollFetches(ctx).Records())
		}
	})
	t.Cleanup(func() { cancel(); done.Wait(); cl.Close() })
	return tail
}

func (t *Tail) add(records []*kgo.Record) {
	if len(records) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.records = append(t.records, records...)
	close(t.changed)
	t.changed = make(chan struct{})
}

// Seen returns the records so far, in the order in which they arrived.
func (t *Tail) Seen() []*kgo.Record {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.records)
}

// Until returns the records once they satisfy the test's condition. It fails the test with a description of the
// condition if the context ends first.
func (t *Tail) Until(ctx context.Context, tb testing.TB, what string, enough func([]*kgo.Record) bool) []*kgo.Record {
	tb.Helper()
	for {
		t.mu.Lock()
		seen, changed := slices.Clone(t.records), t.changed
		t.mu.Unlock()
		if enough(seen) {
			return seen
		}
		select {
		case <-changed:
		case <-ctx.Done():
			tb.Fatalf("waited for %s: %v; %d records seen", what, ctx.Err(), len(seen))
		}
	}
}

// UntilCount waits for n records.
func (t *Tail) UntilCount(ctx context.Context, tb testing.TB, what string, n int) []*kgo.Record {
	tb.Helper()
	return t.Until(ctx, tb, what, func(seen []*kgo.Record) bool { return len(seen) >= n })
}
