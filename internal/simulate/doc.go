// Package simulate plays a pipeline's retries on a virtual clock against providers that fail as a scenario says: what waits in each
// tier and when, how many requests each provider gets, what share dies, how long the backlog takes to drain (S0-12).
//
// What happens to a record is never decided here. Every failure is classified by the pipeline's classifier and decided upon by the
// engine's own Decide, Wake and Surface. Breakers (internal/breaker), gates (internal/gates), pauses (enrich.QuotaLedger) and the order
// of keys (keyorder.Key) are the code that a consumer runs. What is modelled is the world around them: arrivals, answers,
// slots, connections, caches, and the provider's own rate limit. Every record and every request is played, one event after the other;
// a test compares the outcome with the real engine and the real remote steps.
//
// Work is counted, and what is too much of it is refused (see TooMuchError): the time that a machine takes must not change an outcome.
//
// The package does no I/O and keeps no clock. What of a pipeline it does not show, the report says (NotModelled).
package simulate
