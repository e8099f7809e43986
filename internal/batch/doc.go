// Package batch handles Kafka record batches whose decompressed size nobody vouches for.
//
// A broker compares compressed bytes with max.message.bytes, so a batch of 28 KB on the wire may hold a record of 100 MiB,
// and one of 700 KB thousands of records. The package bounds what such batches cost:
//
//   - Budget decompresses for a Kafka client: at most so many bytes of one batch, and of one fetch response.
//   - Large reads a batch that is beyond that bound record by record. A record that is itself too large to be kept is
//     described (size, hash, first bytes) instead of returned.
//   - Streams opens compressed batches as streams, for Large and for the replayer's reader.
//   - Compressor compresses what a client produces, harder where a record would otherwise not fit its topic. Fits says
//     whether a single record will.
//
// The package decides nothing about records, and it retries nothing: an error names the batch, and the caller goes on.
package batch
