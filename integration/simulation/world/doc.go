// Package world is what there is in a simulated world: a cluster, processes that run real engines, producers, a table beside
// Kafka, an operator who replays dead letters, and a network between them. All of it lives in one bubble of testing/synctest:
// the clock is virtual, and the network is in memory.
//
// It gives faults the means to do harm, and says in the end what was seen. It neither chooses faults nor judges.
package world
