// Package offsets tracks which offsets of a partition are finished, and encodes them for the commit: the position,
// and the finished offsets beyond it in the commit's metadata. It has no notion of records, clients or clocks. Its
// values have no locks; their owner guards them.
package offsets
