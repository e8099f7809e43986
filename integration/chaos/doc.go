// Package chaos runs the engine of pkg/retrytopics on a real Kafka while faults happen, and proves the engine's
// guarantees from the topics alone: every source record is in exactly one place, each effect happens exactly once, the
// order per key matches the ordering mode, no attempt is early, and dead letters have the source's bytes.
//
// All faults happen mixed, at random from a fixed seed, and freezes, expiries and broker kills also alone: workers are killed, frozen,
// thawed, added and removed; the broker is killed, stopped and restarted; connections are cut, delayed, half-closed and
// stalled; transactions expire.
//
// With SWITCHBACK_TEST_TIER=proofs three faults happen once each; with SWITCHBACK_TEST_TIER=nightly all of them happen:
//
//	go test ./integration/chaos                                                 nightly: about five minutes
//	go test ./integration/chaos -timeout 0 -chaos.minutes 60                nightly: the long form
//	go test ./integration/chaos -run Mixed -chaos.seed 42                       another seed
//
// The workers are processes of the test's own binary (package worker). Package feed produces the load, and package judge
// of the simulation checks the result. A failure prints the seed and the journey of the records concerned, and keeps the
// broker's data and the workers' logs.
//
// The same seed gives the same records and the same sequence of faults. The instants at which they coincide depend on
// the machine.
//
// kfake cannot replace Kafka here: it ends transactions at once and fences no producer.
package chaos
