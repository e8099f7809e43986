// Package jsontexts splits an input into JSON texts: one a line, one after another, over several lines, or as a sequence with
// record separators (RFC 8142). It decompresses gzip. Both consumer init and consumer transform read with it, so the one takes
// what the other takes.
//
// A text that is broken ends where the next one visibly begins, so it does not take the others along.
package jsontexts
