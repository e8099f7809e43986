// Package simulation plays years of trouble in minutes: real engines (pkg/retrytopics) against an embedded broker, in virtual
// time and with a network in memory. A seed draws a world: its cluster, its configuration, its load and its faults. When the
// faults are over the world comes to rest, and what was seen of it is held against what is promised.
//
// The command play plays many worlds; README.md says how. The package proves nothing about Apache Kafka itself: the tests in
// integration and integration/chaos do.
package simulation
