// Package recordbatch reads the answer of a broker to a fetch request record by record, within bounds of memory.
//
// Kafka bounds batches by their compressed size, and some bytes of zstd can become gigabytes. The client's own reader
// decompresses a whole batch, and an answer has many of them. Here a batch is decompressed as a stream:
//
//	answer ──▶ batch ──▶ decompressor (a window) ──▶ record ──▶ small: a kgo.Record
//	                                                     └────▶ large: its place, sizes, key and headers, without its value
//
// What cannot be decompressed at all, because it is corrupt, needs too large a window or never ends, is given as a range of
// offsets with the reason. No record is passed over in silence. [Reader.Copy] writes the value of one record, however
// large it is, in the same memory.
//
// Records of aborted transactions and control records are left out, as with read_committed. The package asks no broker and
// knows nothing of what records contain.
package recordbatch
