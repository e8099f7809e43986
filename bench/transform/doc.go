// Package transform measures what the consumer does with one event. README.md
// says how to run it and what came out. It holds benchmarks only and asserts
// nothing but the bytes.
package transform
