package attempt

import (
	"hash/maphash"
	"sync/atomic"
	"time"

	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/kafka"
)

// Shared is what all attempts of an engine share. It outlives sessions and is safe for concurrent use.
type Shared struct {
	cfg    *retrytopics.Config
	Limits atomic.Pointer[kafka.Limits] // of topics, as the latest session read them
	Paused atomic.Pointer[string]       // why the engine is paused; nil or "" if it is not
	Doubts doubts
	seed   maphash.Seed   // of the hash that distinguishes running keys
	blank  header.Control // of every record without control headers; never changed
}

// NewShared returns what the attempts of an engine share. cfg has its defaults.
func NewShared(cfg *retrytopics.Config, limits *kafka.Limits) *Shared {
	a := &Shared{cfg: cfg, seed: maphash.MakeSeed()}
	a.Limits.Store(limits)
	return a
}

// Now returns the time of the instance's clock. Durations are measured with package time.
func (a *Shared) Now() time.Time { return time.Now().Add(a.skew()) }

// skew returns how far the instance's clock is ahead of package time's.
func (a *Shared) skew() time.Duration {
	if a.cfg.Timing.ClockSkew == nil {
		return 0
	}
	return a.cfg.Timing.ClockSkew()
}

// PausedFor returns why the engine is paused, or "".
func (a *Shared) PausedFor() string {
	if reason := a.Paused.Load(); reason != nil {
		return *reason
	}
	return ""
}
