package sink

import "github.com/switchback-geo/switchback/internal/config"

// Retune changes the rule of the database's breaker while the sink works.
func (s *Sink) Retune(rule config.Breaker) { s.breaker.Retune(rule) }
