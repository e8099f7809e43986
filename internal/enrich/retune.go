package enrich

import (
	"golang.org/x/time/rate"

	"github.com/switchback-geo/switchback/internal/config"
)

// Retune takes up the rates and the rules of breakers of another configuration of the same steps, while they work. Steps and
// providers are matched by their place; what either side has no rate or breaker for, stays as it is.
func (s *Steps) Retune(configured []config.EnrichStep) {
	for i := range min(len(configured), len(s.steps)) {
		lookups := configured[i].Lookups()
		for j := range min(len(lookups), len(s.steps[i].providers)) {
			s.steps[i].providers[j].retune(lookups[j])
		}
	}
}

func (p *provider) retune(c config.Provider) {
	perSecond, breaker := tunedBy(c)
	if p.limiter != nil && perSecond != nil {
		p.limiter.SetLimit(rate.Limit(perSecond.PerSecond))
		p.limiter.SetBurst(perSecond.Burst)
	}
	if p.breaker != nil && breaker != nil {
		p.breaker.Retune(*breaker)
	}
}

// tunedBy gives what of a provider's configuration can change while it works.
func tunedBy(c config.Provider) (*config.Rate, *config.Breaker) {
	switch {
	case c.HTTP != nil:
		return c.HTTP.Rate, c.HTTP.Breaker
	case c.SQL != nil:
		return c.SQL.Rate, c.SQL.Breaker
	}
	return nil, nil
}
