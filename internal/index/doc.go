// Package index projects a DLQ and its status topic into SQL, so that a million letters are
// listed, grouped and counted at once, and so that people can ask in SQL (S4-6).
//
// The projection lives in a file ([SQLite], no set-up) or in PostgreSQL. Kafka stays the truth:
// everything here can be thrown away and rebuilt, and [Store.Check] holds it against the topics.
//
//	dead_letter_queue     one row a letter, with the columns of S4-6 and those of the project
//	dead_letter_group     what a group's fingerprint stands for
//	dead_letter_block     what is asked most of each letter, packed by a thousand: what list, groups and stats choose by
//	dead_letter_name      the numbers that blocks have for groups, pipelines and runs
//	dead_letter_source    which DLQ of which cluster, by its topic id
//	dead_letter_position  how far each partition was read
//
// [Store.Sync] reads on from the positions, which move in the same SQL transaction as the rows;
// so a crash, a second process or a broken connection neither loses nor doubles anything. A topic
// that was deleted and re-created has another id and is read from its start.
//
// A letter that the topic no longer has keeps its row and is marked (gone, gone_at): retention is
// no reason to forget that a feature was lost. Only a state that was removed as well (a tombstone
// in the status topic) takes the row of such a letter away.
//
// Questions go through the blocks, which have a million letters in some ten megabytes, and only
// then to the rows of what they chose (decision 0028). SQL of other people has the rows alone.
//
// Two things differ from the table of the source document, both so that its queries stay as they
// are. run_id is text, since an orchestrator's run is not always a UUID. raw_record is JSON and
// not JSONB: JSONB would drop white space, order and doubled keys of the original, and refuses
// strings that JSON allows.
//
// The package writes nothing to Kafka, and decides nothing about letters.
package index
