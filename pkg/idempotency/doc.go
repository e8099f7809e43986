// Package idempotency identifies content by its hash and remembers it, so that a record that is delivered, replayed or
// sent again can be recognized: a ledger has the last effective event of each key.
//
// Two contents are equal if their hashes are equal ([Of]). The caller chooses the bytes: a canonical form, such as
// transform.AppendCanonical, or the original ones.
//
// # The ledger
//
// [Ledger] remembers what took effect last for each key, within a window of time and up to a number of keys, in at most
// 64 bytes per key. An event that equals the last one applied for its key is a duplicate; A, then B, then A is three
// changes. [AppendChanges] packs the changes of one transaction into one record, and [Ledger.Restore] reads it back, so
// that the ledger outlives its process. What it forgets (beyond the window or the number of keys) is unknown again: an
// event that comes back later takes effect again.
//
// # What the package refuses to do
//
// It has no clock and does no I/O. It does not decide which of two events counts. It never guesses: a packed record that
// is broken or newer than this program is an error, because with half a memory duplicates would pass silently. Do not
// hash what changes with every delivery (a send time, an offset), or no two hashes are equal.
package idempotency
