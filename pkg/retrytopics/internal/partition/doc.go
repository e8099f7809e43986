// Package partition is an instance's state of the partitions that the group assigned to it.
//
// A Partition is one partition of the source or of a retry topic: its window of finished offsets, its unfinished
// records and their room, its place in the log. The session's mutex guards it.
//
// A State is the state of a partition number, over the source and the retry topics: the memory of its keys, the
// checkpoint, the head of the hash chain. Replay and RestoreLedgers read it from the topics; BindingOf says to which
// topics it must belong. The committing goroutine owns it, and the memory guards itself.
//
// A Task is an accepted record with its partition.
//
// The package begins no session and ends none, fetches no record to handle, and commits nothing.
package partition
