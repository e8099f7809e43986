// Package recordbatch handles Kafka record batches whose decompressed size nobody vouches for.
//
// A broker compares compressed bytes with max.message.bytes, so a batch of 28 KB on the wire may hold a record of 100 MiB, and one of
// 700 KB thousands of records. The package bounds what such batches cost.
//
// [Budget] is the decompressor of a Kafka client: it decompresses at most so many bytes of one batch, and of one answer to a fetch
// request. [Reader] reads an answer record by record, as a stream:
//
//	answer ──▶ batch ──▶ decompressor (a window) ──▶ record ──▶ small: a kgo.Record
//	                                                     └────▶ large: its place, sizes, hash, key and headers, without its value
//
// What cannot be decompressed at all, because it is corrupt, needs too large a window or never ends, is given as a range of
// offsets with the reason. No record is passed over in silence. [Reader.Copy] writes the value of one record, however
// large it is, in the same memory. Records of aborted transactions and control records are left out, as with read_committed.
//
// [Compressor] compresses what a client produces, harder where a record would otherwise not fit its topic, and says whether one fits.
//
// The package asks no broker, retries nothing, and knows nothing of what records contain.
package recordbatch
