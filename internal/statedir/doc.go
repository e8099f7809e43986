// Package statedir keeps what a replayer knows of a DLQ in files of one directory, for clusters that allow no further topics.
//
// The journal stands for the status topic and the audit topic. It is a file of lines, each with a checksum, and is only appended to. A
// batch that sends records is written as an intent, with fsync, before its Kafka transaction begins, and its outcome after the
// transaction has ended. A batch without an outcome is pending: who opens the journal next to write reads the target topics, and decides.
// Readers see decided batches only. The offset of a record is the place of its line in the file, plus its number in the batch.
//
// The file control.json stands for the control topic: the last record of each key.
//
// One process at a time writes the journal, by a file lock. No second machine sees any of it.
package statedir
