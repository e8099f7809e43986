// Package states reads the status topic of a DLQ: which state each dead letter has, and what became of each replay.
//
// [Reader] reads it from the place that keeps it. [Table] is the state of every dead letter at one time, small enough
// for a million of them. [Replays] follows all replays, and [Counter] the outcomes of one replay that is running.
// Failures of dead letters in other software are no states; they are read from the DLQ.
//
// The package writes nothing. An unreadable state is unknown and never counts as pending. An outcome for a dead letter
// that was not part of its replay does not count (see [Foreign]).
package states
