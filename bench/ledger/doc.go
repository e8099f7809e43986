// Package ledger measures the dedupe ledger of pkg/idempotency: the bytes that
// a key takes in memory and in a packed record, the time of a call at sizes
// from ten thousand to ten million keys, and the longest single call. README.md
// says how to run it and what came out. It holds benchmarks only and asserts
// nothing: the limit of 64 bytes per key is a test of pkg/idempotency.
package ledger
