// Package integration runs the built commands against a Kafka broker and checks the project's guarantees from outside:
// no record is lost or duplicated, no retry is early, every dead letter is byte-identical.
//
// Each test is marked with its tier (internal/testkit/testrun). Fast tests show the commands on kfake. Proofs show a
// guarantee once on real Kafka and PostGIS. All other tests run at night:
//
//	go test ./integration
//	SWITCHBACK_TEST_TIER=proofs SWITCHBACK_TEST_BROKER=kafka go test -v ./integration
//	SWITCHBACK_TEST_TIER=nightly SWITCHBACK_TEST_BROKER=kafka go test -timeout 2h ./integration
//
// The folder foreign has Java programs whose libraries write the dead letters that the replayer must read. See
// internal/testkit/broker for how the broker is chosen and how to demand a real one.
package integration
