// Package deadletters is the model of a DLQ: dead letters, their states and their groups, and how all of them are read
// from Kafka.
//
// A dead letter is one record of `<source>.dlq`; its state is the last record with its ID in `<source>.dlq-status`. A
// dead letter without a state record is pending. The states, and who may change them:
//
//	pending ──replay (replayer)──▶ replaying ──consumer succeeded──▶ reprocessed
//	   ▲  │                           │ └─────consumer closed──────▶ duplicate, superseded, discarded
//	   │  │                           └──consumer failed again─────▶ pending (count+1), escalated
//	   │  ├──▶ duplicate   (replayer: a dead letter of the same content is replayed in its place)
//	   │  ├──▶ superseded  (a newer version took effect)
//	   │  └──▶ discarded, escalated
//	   └──reopen── discarded, escalated, superseded
//
// An escalated dead letter can also be replayed or discarded, if a person selects it.
//
// Every status has one writer: only the replayer moves a dead letter that is not replaying, only the consumer moves one
// that is. So the two never compete for one dead letter, although each writes the topic in its own transactions.
//
// If a replayed dead letter dies again, the DLQ has a second record with the same ID. The later one counts, and
// [Letter.Deaths] is their number.
//
// Reading is bounded: the end offsets (last stable offsets) are read once at the start, and reading ends exactly there,
// whatever precedes them: markers, aborted records, compaction gaps. Values and headers are only kept on request.
// [Counter] counts the dead letters that wait for a person.
//
// A record that this software did not write becomes a dead letter with [Letter.Problems]: the readable parts are shown,
// and nothing is dropped. The package writes no record and commits no offset; internal/replay and internal/consumer do,
// with the state records made here.
package deadletters
