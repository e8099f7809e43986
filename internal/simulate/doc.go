// Package simulate plays a pipeline's retries on a virtual clock against providers that fail as a scenario says, and
// tells what a fleet of any size would see: what waits in each tier and when, how many requests each provider gets, what
// share dies, how long the backlog takes to drain (S0-12).
//
// What happens to a record is never decided here: every failure is classified by the pipeline's classifier and decided
// upon by the engine's own Decide, Wake and Surface. What is modelled is the world around them: arrivals, answers, slots,
// connections, circuit breakers and the provider's own rate limit.
//
// There are two models of that world (see Model). ModelExact plays every record and every request, one event after the
// other. ModelFluid moves expected amounts of records in steps of time, so that its cost does not grow with the rate; the
// chances of a breaker alone are drawn. Tests hold the second to the first, and the first to the real engine.
//
// The package does no I/O and keeps no clock. It knows nothing of keys: each record is taken to have one of its own, so
// what waits behind a predecessor (strict order) or is closed as superseded does not show.
package simulate
