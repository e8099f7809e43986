// Package kafka is how both programs reach a cluster, and the one reader of its topics.
//
// It connects as a pipeline file says ([ClientOptions]), waits for a cluster that is not there yet ([Reachable]), and names a privilege
// that is missing, with the command that prints it (Denied…). [Scan] reads spans of topics with read_committed, in order, to an end that
// was taken before, whatever lies there, within bounds of memory; [CopyValue] copies one value of any size. [Lag] says how far a group
// has come.
//
// It writes no record, commits no offset, and knows nothing of what records contain.
package kafka
