// Package breaker keeps requests from a service that is down (S4-5, S3-5). It decides when a circuit breaker opens, how
// long nothing is sent, and what a probe changes. Meanwhile records are deferred and do not fail: an outage uses none of
// their attempts.
//
// [Circuit] is the state machine. It gets the time from its caller and has no clock, lock or log, so the remote steps
// (internal/enrich), the sink and the simulator (internal/simulate), which has a virtual clock, use the same code.
// failsafe-go's breaker reads the wall clock, and has no rule that requires both a number of failures and a share of the
// latest requests (docs/decisions/0006). Tests compare the rules that both have, answer by answer. [Guard] is a circuit
// with a clock, a log and a mutex.
//
// The package sends nothing and retries nothing.
package breaker
