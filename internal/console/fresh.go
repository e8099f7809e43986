package console

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/dlq"
	"github.com/switchback-geo/switchback/internal/dlqindex"
)

// Freshness is the moment that an answer is about.
type Freshness struct {
	At         string           `json:"at"`          // when the topics were read
	AgeSeconds float64          `json:"age_seconds"` // since then
	Offsets    map[string]int64 `json:"offsets"`     // by topic: the sum over its partitions of the offsets up to which it was read
	Stale      string           `json:"stale,omitempty"`
}

func newFreshness(at, now time.Time, offsets map[string]int64) Freshness {
	age := max(now.Sub(at), 0).Round(time.Millisecond)
	return Freshness{At: dlq.TimeText(at), AgeSeconds: age.Seconds(), Offsets: offsets}
}

// refresher refreshes the index on request. One refresh at a time serves all waiting requests. It is safe for
// concurrent use.
type refresher struct {
	base           context.Context // of the refreshes: they do not end with the request that started them
	refresh        func(context.Context) (dlqindex.Synced, error)
	now            func() time.Time
	patience, rest time.Duration
	refreshes      sync.WaitGroup // the running one

	mu      sync.Mutex
	running chan struct{} // closed when the running refresh has ended; nil if none runs
	began   time.Time     // when the last refresh began
	read    time.Time     // when the last successful refresh began; zero before
	offsets map[string]int64
	failed  error // of the last one
}

// fresh refreshes an old index, waits at most its patience, and returns the freshness of the index. The error is why the
// index cannot be used: it was never filled, or it is damaged.
func (r *refresher) fresh(ctx context.Context) (Freshness, error) {
	if running, bound := r.start(); running != nil {
		patience := time.NewTimer(bound)
		defer patience.Stop()
		select {
		case <-running:
		case <-patience.C:
		case <-ctx.Done():
			return Freshness{}, ctx.Err()
		}
	}
	return r.judge()
}

// start begins a refresh unless one runs or the last one is recent. It returns the end of the running one, and how long
// to wait for it.
func (r *refresher) start() (running chan struct{}, bound time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if bound = r.patience; r.read.IsZero() {
		bound = max(bound, firstPatience) // there is no older data to answer from
	}
	if r.running != nil || !r.began.IsZero() && r.now().Sub(r.began) < r.rest || r.base.Err() != nil {
		return r.running, bound
	}
	running = make(chan struct{})
	r.running, r.began = running, r.now()
	r.refreshes.Go(func() {
		defer close(running)
		ctx, cancel := context.WithTimeout(r.base, refreshTimeout)
		defer cancel()
		done, err := r.refresh(ctx)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.running, r.failed = nil, err
		if err == nil {
			r.read, r.offsets = r.began, done.Offsets
		}
	})
	return running, bound
}

// judge returns the freshness of the index.
func (r *refresher) judge() (Freshness, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, damaged := errors.AsType[*dlqindex.DamagedError](r.failed)
	switch {
	case damaged, r.read.IsZero() && r.failed != nil:
		return Freshness{}, r.failed
	case r.read.IsZero():
		return Freshness{}, &fault{exit: cli.ExitRuntime, code: "filling", text: "the index is being filled from the topics for the first time, since " + dlq.TimeText(r.began) + "; try again in a moment"}
	}
	now := r.now()
	out := newFreshness(r.read, now, maps.Clone(r.offsets))
	switch {
	case r.failed != nil:
		out.Stale = fmt.Sprintf("newer records could not be read: %v", r.failed)
	case r.running != nil && now.Sub(r.read) >= r.patience:
		out.Stale = "newer records are being read since " + dlq.TimeText(r.began)
	}
	return out, nil
}

// wait returns when no refresh is running.
func (r *refresher) wait() { r.refreshes.Wait() }
