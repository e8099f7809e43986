// Package simulate plays a pipeline's retries on a virtual clock against providers that fail as a scenario says, and
// tells what a fleet of any size would see: what waits in each tier and when, how many requests each provider gets, what
// share dies, how long the backlog takes to drain (S0-12).
//
// What happens to a record is never decided here: every failure is classified by the pipeline's classifier and decided
// upon by the engine's own Decide, Wake and Surface; breakers (internal/circuit), gates (internal/tolerance) and, in the exact model,
// pauses (internal/quota) and the order of keys (retrytopics.KeyOrder) are the code that a consumer runs, on a virtual clock. What is modelled is
// the world around them: arrivals, answers, slots, connections, caches, and the provider's own rate limit.
//
// There are two models of that world (see Model). ModelExact plays every record and every request, one event after the
// other. ModelFluid moves expected amounts of records in steps of time, so that its cost does not grow with the rate; the
// chances of a breaker alone are drawn. Tests hold the second to the first, and the first to the real engine and the real remote
// steps.
//
// Work is counted, and what is too much of it is played more coarsely or refused (see TooMuchError): the time that a machine takes must
// not change an outcome.
//
// The package does no I/O and keeps no clock. What of a pipeline it does not show, the report says (NotModelled).
package simulate
