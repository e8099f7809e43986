// Package operation describes one operation of an operator on dead letters: who runs it, why, and its ID in states,
// audit events and jobs.
//
// It reads and writes nothing. It refuses an operation without a reason, and texts that are too long for a state and
// an audit event.
package operation
