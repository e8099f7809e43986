// Package idempotency names content by its hash and remembers it, so that a record that
// is delivered again, replayed again or sent again by its producer can be recognised: a
// ledger has what took effect last for each key.
//
// Two contents are equal when their hashes are equal ([Of]). What the bytes are is the
// caller's choice: a canonical form, such as transform.AppendCanonical, or what was sent.
//
// # The ledger
//
// [Ledger] remembers what took effect last for each key, within a window of
// time and up to a number of keys, in at most 64 bytes a key. An event that
// equals the last one applied for its key is a duplicate; A, then B, then A is
// three changes. [AppendChanges] packs the changes of one transaction into one
// record, and [Ledger.Restore] reads it back, so that the ledger outlives its
// process. What it forgets (beyond the window or the number of keys) it does
// not know any more: an event that comes back later than that takes effect
// again.
//
// # What the package refuses to do
//
// It has no clock and does no I/O, it does not decide which of two events
// counts, and it never guesses: a packed record that is broken or newer than this
// program is an error, because half a memory lets duplicates through in silence.
// Leave out of a hash what changes with every delivery (a time of sending, an
// offset), or nothing is ever equal.
package idempotency
