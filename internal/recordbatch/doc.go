// Package recordbatch handles Kafka record batches whose decompressed size is unknown.
//
// A broker compares compressed bytes with max.message.bytes. So a batch of 28 KB on the wire may contain a record of 100 MiB, and one of 700 KB thousands of records. The package limits the memory for such batches.
//
// [Budget] is the decompressor of a Kafka client. It limits the decompressed bytes of one batch and of one fetch
// response. [Reader] reads a response record by record, as a stream:
//
//	response ──▶ batch ──▶ decompressor (a window) ──▶ record ──▶ small: a kgo.Record
//	                                                       └────▶ large: its position, sizes, hash, key and headers, without its value
//
// A batch that cannot be decompressed, because it is corrupt, needs too large a window or never ends, becomes a range
// of offsets with the reason. No record is skipped in silence. [Reader.Copy] writes the value of one record, however
// large it is, in the same memory. Records of aborted transactions and control records are left out, as with
// read_committed.
//
// [Compressor] compresses what a client produces, harder where a record would otherwise not fit its topic, and
// reports whether a record fits.
//
// The package sends no requests, retries nothing, and does not interpret the contents of records.
package recordbatch
