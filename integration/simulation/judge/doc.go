// Package judge compares what simulated worlds and the chaos suite recorded with what is promised: conservation, exactly once, the order of
// the mode, never early, a bound on the calls of the handler, progress, and a bound on memory.
//
// It is written from the contract (docs/delivery.md) and shares no code with the engine. Its evidence is plain data, so a test breaks each of
// its rules once. Package internal/testkit/conservation counts places and compares copies for it.
package judge
