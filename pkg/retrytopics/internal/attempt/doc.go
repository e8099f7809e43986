// Package attempt makes one attempt at a record and stores the outcome in the record's task: the decision, the records
// to produce, and the change of its key's state.
//
//	state of the key ──▶ may it run? ──▶ handler ──▶ decision ──▶ change of the key ──▶ records to produce
//
// It calls the handler within its time, again at once if the failure asks for it, and with a panic as an error of that
// record alone. It detects handlers that run longer than their time limit.
//
// Shared is what all attempts of an engine have in common. A Worker makes one attempt after another. Results keeps the
// answers of handlers for a later session.
//
// The package commits nothing and has no client. It changes nothing but its task, the memory of the key, which can undo
// the change, and the counters of Shared.
package attempt
