package retrytopics

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// A handler's context ends after Timing.Handler. A handler that ignores it keeps its worker and its record's key, and
// only the end of the process helps; so it is reported.

// busy is the current work of one worker.
type busy struct {
	task  atomic.Pointer[task] // nil while it waits
	since atomic.Int64         // Unix nanoseconds
}

// StuckStats is a handler that runs on after its time.
type StuckStats struct {
	Source header.Position // of the record, where it first appeared
	For    time.Duration   // since the attempt began
}

const (
	// watchEvery is the period in which handlers are checked.
	watchEvery = time.Second
	// stuckGrace is how long a handler has to end after its context.
	stuckGrace = time.Second
)

// stuck returns the handlers that run on after their time.
func (s *session) stuck(now time.Time) (all []StuckStats) {
	for _, w := range s.workers {
		t := w.busy.task.Load()
		if t == nil {
			continue
		}
		if took := now.Sub(time.Unix(0, w.busy.since.Load())); took > s.e.cfg.Timing.Handler+stuckGrace {
			all = append(all, StuckStats{t.record.Source, took})
		}
	}
	return all
}

// watch logs handlers that run on after their time, each once a minute, until the context ends.
func (s *session) watch(ctx context.Context) {
	told := map[header.Position]time.Time{}
	for sleep(ctx, watchEvery) {
		now := time.Now()
		still := map[header.Position]time.Time{}
		for _, stuck := range s.stuck(now) {
			at, known := told[stuck.Source]
			if !known || now.Sub(at) >= tellEvery {
				at = now
				s.e.cfg.Logger.ErrorContext(ctx, "a handler ignores the end of its context; the record's key waits, and only a restart ends it",
					"source", stuck.Source.String(), "running_for", stuck.For.String(), "handler_timeout", s.e.cfg.Timing.Handler.String())
			}
			still[stuck.Source] = at
		}
		told = still
	}
}
