// Package faults has the faults of simulated worlds and the actions of their operators, one file for each kind. A kind
// draws its faults from a seed and applies them to a world.
//
// A known fault of the engine is listed in the table with the word open. The kinds that show it are not drawn until it
// is fixed.
package faults
