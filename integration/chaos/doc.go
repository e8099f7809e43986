// Package chaos puts the engine of pkg/retrytopics under fire on a real Kafka,
// and proves from the topics alone what it promises: every source record in
// exactly one place, each effect exactly once, the order per key that the mode
// promises, no attempt before its due time, dead letters with the source's bytes.
//
// Each fault strikes alone, and all of them mixed, at random from a fixed seed:
// workers killed, frozen and thawed, joining and leaving; the broker killed,
// stopped and started again; the network cut, delayed, half-closed and stalled;
// transactions that expire.
//
// With SWITCHBACK_TEST_TIER=proofs three faults strike once each; with SWITCHBACK_TEST_TIER=nightly all of them strike:
//
//	go test ./integration/chaos                                                 nightly: about five minutes
//	go test ./integration/chaos -timeout 0 -chaos.kills 500 -chaos.minutes 60   nightly: the long form
//	go test ./integration/chaos -run Mixed -chaos.seed 42                       another seed
//
// The workers are processes of the test's own binary (package worker), the load is
// package feed's, and what they did is judged by package check. A failure prints
// the seed and the journey of the records concerned, and keeps the broker's data
// and the workers' logs.
//
// The same seed gives the same records and the same sequence of faults, not the
// same instant at which they meet: that is the machine's.
//
// kfake is no substitute here: it ends transactions at once and fences nobody.
package chaos
