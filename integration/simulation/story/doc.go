// Package story is what is told of a world: what happened, and when, and of a failure the way of the records concerned. It
// decides nothing.
package story
