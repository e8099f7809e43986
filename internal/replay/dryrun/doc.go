// Package dryrun predicts what a replay does with a dead letter: what today's mapping makes of its value, what the
// mappings of running instances make of it, and what a rewrite changes in it.
//
// It has no side effects and does not call the remote steps of a pipeline. It asks the schema registry, and the cluster
// for the limits of the output topic.
package dryrun
