package attempt

import (
	"context"
	"time"

	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// A handler's context ends after its limit. A handler that ignores it occupies its worker and blocks its record's
// key, and only a restart of the process ends it; so it is reported.

// Stuck is a handler that runs longer than its time limit.
type Stuck struct {
	Source header.Position // of the record, where it first appeared
	For    time.Duration   // since the attempt began
}

const (
	// watchEvery is the period in which handlers are checked.
	watchEvery = time.Second
	// stuckGrace is how long a handler has to end after its context.
	stuckGrace = time.Second
	// logEvery is the least time between two log lines about one handler.
	logEvery = time.Minute
)

// Callers are those of all workers.
type Callers []*Caller

// Stuck returns the handlers that run longer than their time limit.
func (all Callers) Stuck(now time.Time) (stuck []Stuck) {
	for _, c := range all {
		source := c.source.Load()
		if source == nil {
			continue
		}
		if took := now.Sub(time.Unix(0, c.since.Load())); took > c.Limit+stuckGrace {
			stuck = append(stuck, Stuck{*source, took})
		}
	}
	return stuck
}

// Watch logs handlers that run longer than their time limit, each once a minute, until the context ends.
func (all Callers) Watch(ctx context.Context) {
	logged := map[header.Position]time.Time{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(watchEvery):
		}
		now := time.Now()
		still := map[header.Position]time.Time{}
		for _, stuck := range all.Stuck(now) {
			at, known := logged[stuck.Source]
			if !known || now.Sub(at) >= logEvery {
				at = now
				all[0].Logger.ErrorContext(ctx, "a handler ignores the end of its context; the record's key is blocked, and only a restart ends it",
					"source", stuck.Source.String(), "running_for", stuck.For.String(), "handler_timeout", all[0].Limit.String())
			}
			still[stuck.Source] = at
		}
		logged = still
	}
}
