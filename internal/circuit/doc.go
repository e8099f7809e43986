// Package circuit is the state machine of one circuit breaker (S4-5, S3-5): when it opens, how long nothing is sent, what a
// probe decides.
//
// It is given the time and keeps no clock, so that the remote steps (internal/enrich) and the simulator (internal/simulate),
// which plays on a virtual clock, ask the same code. That is why it is not the library's: failsafe-go reads the wall clock,
// and has no rule that demands a number of failures and a share of the latest requests together (docs/decisions/0022). Tests hold
// the rules that the library has to the library, answer by answer.
//
// It has no lock and writes no log, and what counts as a failure its callers decide.
package circuit
