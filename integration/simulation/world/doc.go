// Package world has the parts of a simulated world: a cluster, processes with real engines, producers, a table beside
// Kafka, an operator who replays dead letters, and a network between them. All of it runs in one bubble of
// testing/synctest: the clock is virtual, and the network is in memory.
//
// Faults use its methods, and the judge gets its records. It neither chooses faults nor judges.
package world
