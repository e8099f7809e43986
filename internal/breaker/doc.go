// Package breaker keeps requests from a service that is down (S4-5, S3-5): when a circuit breaker opens, how long nothing is sent,
// what a probe decides. What cannot be asked meanwhile is a hold and no failure: an outage is no fault of a record, so it spends
// none of its attempts.
//
// [Circuit] is the state machine. It is given the time and keeps no clock, no lock and no log, so that the remote steps
// (internal/enrich), the sink and the simulator (internal/simulate), which plays on a virtual clock, ask the same code. It is not the
// library's: failsafe-go reads the wall clock, and has no rule that demands a number of failures and a share of the latest requests
// together (docs/decisions/0006). Tests hold the rules that the library has to the library, answer by answer. [Guard] is a circuit with
// a clock, a log and a mutex.
//
// The package sends nothing and tries nothing again.
package breaker
