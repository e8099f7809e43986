package retrytopics

import (
	"hash/maphash"
	"sync/atomic"
	"time"

	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/kafka"
)

// attempts is what all attempts of an engine share. It outlives sessions and is safe for concurrent use.
type attempts struct {
	cfg    *Config
	limits atomic.Pointer[kafka.Limits] // of topics, as the latest session read them
	paused atomic.Pointer[string]       // why the engine is paused; nil or "" if it is not
	doubts doubts
	seed   maphash.Seed   // of the hash that distinguishes running keys
	blank  header.Control // of every record without control headers; never changed
}

func newAttempts(cfg *Config, limits *kafka.Limits) *attempts {
	a := &attempts{cfg: cfg, seed: maphash.MakeSeed()}
	a.limits.Store(limits)
	return a
}

// now returns the time of the instance's clock. Durations are measured with package time.
func (a *attempts) now() time.Time { return time.Now().Add(a.skew()) }

// skew returns how far the instance's clock is ahead of package time's.
func (a *attempts) skew() time.Duration {
	if a.cfg.Timing.ClockSkew == nil {
		return 0
	}
	return a.cfg.Timing.ClockSkew()
}

// pausedFor returns why the engine is paused, or "".
func (a *attempts) pausedFor() string {
	if reason := a.paused.Load(); reason != nil {
		return *reason
	}
	return ""
}
