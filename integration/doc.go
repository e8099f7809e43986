// Package integration holds the suite that runs the built commands against a
// Kafka broker and checks, from outside, what the project promises: nothing lost,
// nothing doubled, nothing too early, every dead letter byte-identical.
//
// Each test is marked with its tier (internal/testkit/testrun). Fast tests show the commands on kfake. Proofs show a
// guarantee once on real Kafka and PostGIS. All other tests run at night:
//
//	go test ./integration
//	SWITCHBACK_TEST_TIER=proofs SWITCHBACK_TEST_BROKER=kafka go test -v ./integration
//	SWITCHBACK_TEST_TIER=nightly SWITCHBACK_TEST_BROKER=kafka go test -timeout 2h ./integration
//
// It holds tests only, and in the folder foreign the Java programs whose
// libraries write dead letters that the replayer has to read. Which broker is
// used, and how to demand a real one, is told in internal/testkit/broker.
package integration
