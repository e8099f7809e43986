package enrich

import (
	"golang.org/x/time/rate"

	"github.com/switchback-geo/switchback/internal/config"
)

// Retune applies the rates and the rules of breakers of another configuration of the same steps, while they work. Steps and providers are
// matched by their position. A provider without a rate or a breaker, before or now, stays as it is.
func (s *Steps) Retune(configured []config.EnrichStep) {
	for i := range min(len(configured), len(s.steps)) {
		lookups := configured[i].Lookups()
		for j := range min(len(lookups), len(s.steps[i].providers)) {
			s.steps[i].providers[j].retune(lookups[j].Bounds())
		}
	}
}

func (p *provider) retune(now config.Bounds) {
	if p.limiter != nil && now.Rate != nil {
		p.limiter.SetLimit(rate.Limit(now.Rate.PerSecond))
		p.limiter.SetBurst(now.Rate.Burst)
	}
	if p.breaker != nil && now.Breaker != nil {
		p.breaker.Retune(*now.Breaker)
	}
}
