// Package idempotency names content and remembers it: it turns bytes into a
// canonical form and a canonical form into a content hash, so that a record that
// is delivered again, replayed again or sent again by its producer can be
// recognised, and keeps a ledger of what took effect last for each key.
//
// # What equality means
//
// Two contents are equal here when their hashes are equal, and that is when
// their canonical bytes are equal. [Canonical] makes two JSON texts equal when
// they differ only in
//
//   - white space,
//   - the order of object members,
//   - how a string is escaped ("\u0041" and "A"),
//   - how a number is written (1.0, 1e0 and 1).
//
// They stay different when they differ in anything else: the order of an
// array, the case of a name, a member that is null and a member that is
// missing, a composed and a decomposed accent (there is no Unicode
// normalisation), the number 1 and the string "1".
//
// # Numbers
//
// RFC 8785 takes every number for an IEEE 754 double. Followed to the letter
// it makes 9007199254740993 and 9007199254740992 equal, so two events with
// different 64-bit ids would pass for duplicates and one would be lost. Here an
// integer literal (no fraction, no exponent) keeps all of its digits, whatever
// its size; up to 2^53 the result is the RFC's, byte for byte. A literal with
// a fraction or an exponent is a double, as the RFC says: it is written in its
// shortest form, and two literals that round to one double are equal. A number
// beyond the range of a double is refused instead of saturated.
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
// counts, and it never guesses: text that is not strict JSON (a duplicate
// member, invalid UTF-8, trailing data) is an error, because two readers could
// take it for two different contents, and a packed record that is broken or
// newer than this program is an error, because half a memory lets duplicates
// through in silence. What goes into a hash is the caller's choice; leave out
// what changes with every delivery (a time of sending, an offset), or nothing
// is ever equal.
package idempotency
