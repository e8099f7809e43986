// Package chain ties the entries of an append-only log together: each has a number, the hash of the
// entry before it, and a hash over both and over its own canonical JSON (RFC 8785). Whoever changes,
// removes, adds or reorders an entry breaks the chain at that place, and [Verifier] says where.
//
// It does not store anything and does not sign anything: anyone who can rewrite the whole log, from the
// changed entry to the head, can make a chain that fits. The head is therefore kept apart from the log
// by those who use the package, and compared with [Verifier.End].
package chain
