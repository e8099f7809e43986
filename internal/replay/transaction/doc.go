// Package transaction writes what a replayer does with dead letters: records, new states and audit events of one batch
// in one transaction, or nothing.
//
// [Start] fences every other replayer of the source topic by the transactional ID. A fenced replayer cannot commit, so
// the states that Start returns stay true (docs/decisions/0002). If a directory keeps the states, journal.go writes the
// intent there before the transaction and its outcome after it, and settles what a crash left open.
//
// The package decides nothing about dead letters. It refuses a record that is larger than its topic takes.
package transaction
