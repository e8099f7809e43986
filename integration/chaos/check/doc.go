// Package check judges what workers under fire have done, from the topics as a
// reader with read_committed sees them: the journal of every step, the source, the
// output and what is left in the tiers.
//
// It goes beyond package conservation, which counts places: here every journey
// must be whole, every attempt in time, and the effects on each key those, and in
// the order, that the mode promises. It is written from the contract (architecture,
// sections 1 and 3) and shares no code with the engine.
package check
