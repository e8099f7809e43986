// Package kafka connects both programs to a cluster, and is the one reader of its topics.
//
// It connects as a pipeline file says ([ClientOptions]), waits for a cluster that is not there yet ([Reachable]), and
// names a missing privilege with the command that prints it (Denied…). [Scan] reads spans of topics with read_committed,
// in order, to an end that was read before, whatever the records are, within bounds of memory. [CopyValue] copies one
// value of any size. [Lag] returns how far a group has read.
//
// It writes no record, commits no offset, and knows nothing of the contents of records.
package kafka
