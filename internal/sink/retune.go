package sink

import "github.com/switchback-geo/switchback/internal/config"

// Retune gives the breaker of the database another rule, while the sink works.
func (s *Sink) Retune(rule config.Breaker) { s.breaker.Retune(rule) }
