// Package conservation proves, from the topics alone, that every input record of a pipeline is in exactly one place
// (architecture, section 1, guarantees 1, 2 and 7): output, DLQ, waiting in a tier, not yet read, or closed with a
// recorded reason.
//
// It reads with read_committed, so it counts what every consumer sees. The pipeline must be idle: topics are read one
// after another, and a record that moves meanwhile would be counted twice or not at all.
package conservation
