package retrytopics

import (
	"cmp"
	"context"

	"github.com/twmb/franz-go/pkg/kgo"
)

// A pause is ordered from outside, for all records and until it is ended from outside: a person, or a gate that counts,
// wants nothing to go on. An UnavailableError is the opposite in each respect: it is for what one dependency needs, and it ends by
// itself.

// Hold brings the engine to a pause, now or from the start of its next run on: it takes nothing from the source and the
// tiers and begins no attempt. What runs finishes. What succeeds is committed; an attempt that fails is put back and counts
// for nothing, so that neither the attempts of a record nor the DLQ change. The instance stays in its group and keeps its
// partitions. The reason is shown in Stats; a second Hold replaces it. An empty one is "held".
func (e *Engine) Hold(reason string) { e.setPaused(cmp.Or(reason, "held")) }

// Resume ends the pause. What was put back runs first.
func (e *Engine) Resume() { e.setPaused("") }

func (e *Engine) setPaused(reason string) {
	e.pauseMu.Lock()
	defer e.pauseMu.Unlock()
	e.pausedFor.Store(&reason)
	if s := e.current.Load(); s != nil {
		s.sched.pause(reason != "")
	}
}

// Paused gives the reason for which the engine is held; it is empty when it is not.
func (e *Engine) Paused() string {
	if reason := e.pausedFor.Load(); reason != nil {
		return *reason
	}
	return ""
}

// enter makes s the session of the engine, in the engine's state.
func (e *Engine) enter(s *session) {
	e.pauseMu.Lock()
	defer e.pauseMu.Unlock()
	e.current.Store(s)
	s.sched.pause(e.Paused() != "")
}

// undone tells a failed attempt and says whether it is to be put back: it failed in a pause, though that may end at this
// moment, or led to one. A partition that is gone fails attempts of its own.
func (e *Engine) undone(ctx context.Context, event *Event) bool {
	if event.Failure == nil && len(event.Dead) == 0 || ctx.Err() != nil {
		return false
	}
	held := e.Paused() != ""
	for _, dead := range event.Dead {
		e.cfg.Hooks.OnFailure(dead)
	}
	if event.Failure != nil {
		e.cfg.Hooks.OnFailure(event)
	}
	return held || e.Paused() != ""
}

// pause starts nothing while still is true.
func (s *scheduler) pause(still bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paused = still
	if !still {
		s.wakeWorker()
		s.onReady() // ends the wait of a poll, which may take records again
	}
}

// putBack makes a task whose attempt counts for nothing runnable again, before all others. Its key stays taken, so that
// order holds.
func (s *scheduler) putBack(t *task) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop(t)
	if t.from.dead {
		return
	}
	s.probed(t, t.down)
	to := &s.runnable
	if t.from.tier != sourceTier {
		to = &s.due
	}
	to.insert(0, t.fetched())
	s.wakeWorker()
}

// idle is the poll of a pause: it takes nothing, after a wait for results. What the client has fetched already stays
// in its memory; pausing the partitions instead would throw it away.
func (s *session) idle(ctx context.Context, ripe bool) kgo.Fetches {
	if !ripe {
		s.awaitResults(ctx)
	}
	return s.pollNothing(ctx)
}
