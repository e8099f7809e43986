// Package statedir stores a replayer's state of a DLQ in files of one directory. It is for clusters on which no
// further topics may be created.
//
// The journal replaces the status topic and the audit topic. It is an append-only file of lines, and each line has a
// checksum. The replayer writes a batch that sends records as an intent, with fsync, before its Kafka transaction
// begins. It writes the outcome after the transaction has ended. A batch without an outcome is pending. The next
// writer that opens the journal reads the target topics and decides the pending batch. Readers see only decided
// batches. The offset of a record is the byte position of its line in the file, plus its index in the batch.
//
// The file control.json replaces the control topic. It has the last record of each key.
//
// A file lock admits one writing process at a time. Other machines do not see any of these files.
package statedir
