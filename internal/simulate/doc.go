// Package simulate runs a pipeline's retries in virtual time against providers that fail as a scenario describes. It
// reports how many records wait in each tier and when, how many requests each provider gets, which share becomes dead
// letters, and how long the backlog takes to drain (S0-12).
//
// It never decides about a record itself. The pipeline's classifier classifies every failure, and the engine's own
// Decide, Wake and Surface decide about it. Breakers (internal/breaker), gates (internal/gates), pauses
// (enrich.QuotaLedger) and the order of keys (keyorder.Key) are the code that a consumer runs. Only the environment
// is modelled: arrivals, answers, slots, connections, caches, and the provider's own rate limit. Every record and
// every request is simulated, one event after the other. A test compares the result with the real engine and the real
// remote steps.
//
// Work is counted, and too much of it is refused (see TooMuchError), so that the speed of the machine does not change
// a result.
//
// The package does no I/O and has no clock. The report lists the settings of a pipeline that it does not model
// (NotModelled).
package simulate
