package enrich

import (
	"testing"

	"golang.org/x/time/rate"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

func TestRetune_S4_5_changesRatesOfStepsThatWork(t *testing.T) {
	step := func(r *config.Rate, b *config.Breaker) []config.EnrichStep {
		return []config.EnrichStep{{Name: "place", HTTP: &config.HTTPLookup{
			MaxResponseBytes: 1, URL: "http://127.0.0.1:1/", Method: "GET", AllowPrivate: true, Timeout: config.Duration(1e9), MaxConnections: 1, Rate: r, Breaker: b,
		}, Set: map[string]string{"name": "/name"}}}
	}
	rule := config.Breaker{Failures: 3, Window: config.Duration(1e9), Cooldown: config.Duration(1e9), Successes: 1}
	steps := must.Get(New(step(&config.Rate{PerSecond: 1, Burst: 2}, &rule), Options{}))(t)
	defer steps.Close()
	steps.Retune(step(&config.Rate{PerSecond: 7, Burst: 9}, &rule))
	if l := steps.steps[0].providers[0].limiter; l.Limit() != rate.Limit(7) || l.Burst() != 9 {
		t.Errorf("the rate is %v, burst %d", l.Limit(), l.Burst())
	}
	steps.Retune(step(nil, nil))
	if l := steps.steps[0].providers[0].limiter; l.Limit() != rate.Limit(7) {
		t.Errorf("a configuration without a rate took it away: %v", l.Limit())
	}
}
