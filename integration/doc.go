// Package integration holds the suite that runs the built commands against a
// Kafka broker and checks, from outside, what the project promises: nothing lost,
// nothing doubled, nothing too early, every dead letter byte-identical.
//
// It holds tests only, and in the folder foreign the Java programs whose
// libraries write dead letters that the replayer has to read. Which broker is
// used, and how to demand a real one, is told in internal/testkit/broker.
package integration
