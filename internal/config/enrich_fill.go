package config

import (
	"strconv"
	"time"
)

// fillBreakers gives each breaker the values of its preset that were not written.
func fillBreakers(c *Config) {
	if s := c.Sink.PostGIS; s != nil {
		s.Breaker.fill(func(key string) bool { return c.origins.byHand("sink.postgis.breaker." + key) })
	}
	for i, step := range c.Enrich {
		path := "enrich[" + strconv.Itoa(i) + "]"
		for j, p := range step.Lookups() {
			at := path
			if len(step.Providers) > 0 {
				at = path + ".providers[" + strconv.Itoa(j) + "]"
			}
			if p.HTTP != nil {
				p.HTTP.Breaker.fill(func(key string) bool { return c.origins.byHand(at + ".http.breaker." + key) })
			}
			if p.SQL != nil {
				p.SQL.Breaker.fill(func(key string) bool { return c.origins.byHand(at + ".sql.breaker." + key) })
			}
		}
	}
}

// fill sets what the preset says and nobody wrote. The values of steady are the defaults.
func (b *Breaker) fill(isSet func(key string) bool) {
	if b == nil || b.Preset == BreakerSteady {
		return
	}
	if !isSet("failure_rate") {
		b.FailureRate = 0
	}
	if !isSet("among") {
		b.Among = 0
	}
	if b.Preset != BreakerPatient {
		return
	}
	if !isSet("failures") {
		b.Failures = 3
	}
	if !isSet("window") {
		b.Window = Duration(5 * time.Minute)
	}
	if !isSet("cooldown") {
		b.Cooldown = Duration(5 * time.Minute)
	}
	if !isSet("successes") {
		b.Successes = 1
	}
}
