// Package bombs builds record batches that client libraries do not produce: a few bytes that decompress to gigabytes,
// values of any size, batches of aborted transactions. A batch is built as a stream, so that a large one needs no
// memory, and is sent to the broker unchanged.
package bombs
