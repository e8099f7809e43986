// Package transform measures pkg/transform against what others take for less:
// the whole work on a record against encoding/json reading and writing the same
// bytes, and OGC validity against the library that decides it. README.md says how
// to run it and what came out. It holds benchmarks only and asserts nothing but
// the number of allocations.
package transform
