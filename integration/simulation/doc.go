// Package simulation runs real engines (pkg/retrytopics) against an embedded broker, in virtual time and with a
// network in memory. A seed draws a world: its cluster, its configuration, its load and its faults. After the faults
// the world comes to rest, and the judge compares the recorded events with the guarantees.
//
// The command play runs many worlds; README.md describes it. The package proves nothing about Apache Kafka itself:
// the tests in integration and integration/chaos do.
package simulation
