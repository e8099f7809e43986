// Package judge compares the records of simulated worlds and of the chaos suite with the guarantees: conservation,
// exactly once, the order of the mode, never early, a bound on the calls of the handler, progress, and a bound on
// memory.
//
// It is written from the contract (docs/delivery.md) and shares no code with the engine. Its evidence is plain data,
// so that a test can break each of its rules. Package internal/testkit/conservation counts places and compares copies
// for it.
package judge
