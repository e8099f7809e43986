// Package idempotency names content: it turns bytes into a canonical form and
// a canonical form into a content hash, so that a record that is delivered
// again, replayed again or sent again by its producer can be recognised.
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
// # What the package refuses to do
//
// It keeps no ledger, has no clock and does no I/O, and it never guesses: text
// that is not strict JSON (a duplicate member, invalid UTF-8, trailing data) is
// an error, because two readers could take it for two different contents. What
// goes into a hash is the caller's choice; leave out what changes with every
// delivery (a time of sending, an offset), or nothing is ever equal.
package idempotency
