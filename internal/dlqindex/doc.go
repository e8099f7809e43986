// Package dlqindex projects a DLQ and its status topic into SQL, so that a million dead letters are listed, grouped and
// counted quickly, and so that people can ask in SQL (S4-6).
//
// The projection lives in a SQLite file, which needs no set-up, or in PostgreSQL. Kafka stays the truth: everything here
// can be thrown away and rebuilt, and [Index.Check] compares it with the topics.
//
//	dead_letter_queue     one row per letter, with the columns of S4-6 and those of the project
//	dead_letter_count     letters per group and status
//	dead_letter_day       pending letters per day, code and pipeline
//	dead_letter_cell      letters per cell of grids of several sizes and status
//	dead_letter_group     what the fingerprint of a group stands for
//	dead_letter_source    the DLQs, by cluster, topic and topic ID
//	dead_letter_position  how far each partition was read
//
// [Index.Sync] reads on from the positions. Positions, rows and counters change in the same SQL transaction, so a crash, a
// second process or a broken connection neither loses nor doubles anything. A topic that was deleted and re-created has
// another ID and is read from its start.
//
// A letter whose record retention deleted keeps its row and is marked (gone, gone_at): the loss of a feature is not
// forgotten. The row goes when the letter's state is removed as well (a tombstone in the status topic).
//
// `groups` and `stats` without a filter read the counters. All other questions are ordinary SQL on the rows (decision 0165).
//
// Two columns differ from the table of the source document, so that its queries run unchanged. run_id is text, because
// an orchestrator's run is not always a UUID. raw_record is JSON and not JSONB: JSONB would drop white space, order and
// repeated keys of the original, and refuses strings that JSON allows.
//
// The package writes nothing to Kafka, and decides nothing about letters.
package dlqindex
