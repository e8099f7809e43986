// Package bombs makes batches of records for tests that a producer's client does not make: some bytes that decompress to
// gigabytes, values of any size, batches of aborted transactions. A batch is made as a stream, so that a large one needs no
// memory, and goes to the broker as it is.
package bombs
