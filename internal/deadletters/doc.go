// Package deadletters is the model of what lies in a DLQ: letters, their states, their groups,
// and how all of them are read from Kafka.
//
// A letter is one record of `<source>.dlq`; its state is the last record with its id in
// `<source>.dlq-status`. A letter without a state record is pending. The states and who may
// change them:
//
//	pending ──replay (replayer)──▶ replaying ──consumer succeeded──▶ reprocessed
//	   ▲  │                           │ └─────consumer closed──────▶ duplicate, superseded, discarded
//	   │  │                           └──consumer failed again─────▶ pending (count+1), escalated
//	   │  ├──▶ duplicate   (replayer: a letter of the same content is replayed in its place)
//	   │  ├──▶ superseded  (a newer version took effect)
//	   │  └──▶ discarded, escalated
//	   └──reopen── discarded, escalated, superseded
//
// An escalated letter can also be replayed or discarded as it is, when a person selects it.
//
// Every status has one writer: only the replayer moves a letter that is not replaying, only the
// consumer moves one that is. Therefore the two never race for one letter, although each writes
// the topic in transactions of its own.
//
// When a replayed letter dies again, the DLQ holds a second record with the same id; the later
// one counts, and [Letter.Deaths] says how many there are.
//
// Reading is bounded: the end offsets (last stable offsets) are taken once at the start, and
// reading ends exactly there, whatever lies at the tail: markers, aborted records, compaction
// gaps. Values and headers are only kept when asked for. [Counter] counts the letters that wait for a person.
//
// A record that is not what this software writes becomes a letter with [Letter.Problems]: what
// could be read is shown, and nothing is dropped. The package changes nothing: no record is
// written, no offset committed. Writing is the work of internal/replay and internal/consumer, which
// take their state records from here.
package deadletters
