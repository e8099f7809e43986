package app

import (
	"time"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// Wait is the wait before one attempt.
type Wait struct {
	Attempt int           // the attempt that comes after it, from 2
	Delay   time.Duration // without jitter
	Topic   string        // the tier
}

// Timeline gives the waits of a record that fails for a passing reason every time. It asks the engine's own decision.
func Timeline(cfg *config.Config) []Wait {
	e := retries(cfg)
	failure := classify.Failure{Class: classify.RetryBackoff, Level: classify.LevelTransient}
	var waits []Wait
	start := time.Unix(0, 0).UTC()
	for attempt := 1; ; attempt++ {
		d := retrytopics.Decide(e.Policy, e.Tiers, attempt, failure, start, func() float64 { return 0 })
		if d.Outcome != retrytopics.OutcomeRetried {
			return waits
		}
		waits = append(waits, Wait{Attempt: attempt + 1, Delay: d.Due.Sub(start), Topic: e.Tiers[d.Tier].Topic})
	}
}
