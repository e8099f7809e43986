// Package jsontexts splits an input into JSON texts: one per line, one after another, over several lines, or as a
// sequence with record separators (RFC 8142). It decompresses gzip. `consumer init` and `consumer transform` both use
// it, so they accept the same inputs.
//
// A malformed text ends where the next one visibly begins, so it does not affect the others.
package jsontexts
