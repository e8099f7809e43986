// Package judge holds what was seen of a simulated world against what is promised: conservation, exactly once, the order of
// the mode, never early, a bound on the calls of the handler, progress, and a bound on memory.
//
// It is written from the contract (docs/delivery.md) and shares no code with the engine. What it is given is plain data, so
// each of its rules is tested by breaking it once. Places are counted, and copies compared, by internal/testkit/conservation;
// the checker of the chaos suite knows neither replays nor versions and is not used.
package judge
