// Package feed makes the load of the chaos suite: source records whose own bytes
// say what shall happen to them, so that every worker, whenever it starts, treats
// one record alike, and the checker knows what must become of it.
package feed
