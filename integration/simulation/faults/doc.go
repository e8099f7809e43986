// Package faults is what can go wrong in a simulated world, and what operators do in it: one file for each kind. A kind says
// how it is drawn from a seed, and what it does to a world.
//
// Known faults of the engine stand in the table with the word open: the kinds that show them are not drawn until it is gone.
package faults
