// Package kafka connects both programs to a cluster, and reads its topics.
//
// It connects with the settings of a pipeline file ([ClientOptions]), waits for a cluster that does not answer yet
// ([Reachable]), and names a missing privilege with the command that prints it (Denied…). [Scan] reads spans of
// topics with read_committed, in order, to an end that was determined before, with bounded memory for any records.
// [CopyValue] copies one value of any size. [Lag] returns how far a group has read.
//
// It writes no record, commits no offset, and does not interpret the contents of records.
package kafka
