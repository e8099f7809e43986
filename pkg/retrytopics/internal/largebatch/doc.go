// Package largebatch reads a record batch that is too large for the client, record by record.
//
// A batch that decompresses to more than the client's bound stops the client at its offset. A Read fetches the batch from
// the partition's leader and returns its records in steps of some megabytes. A record that is too large for memory becomes
// a pointer to its position, and so does each offset of a batch that cannot be read.
//
// The package decides nothing about these records. It belongs to the goroutine that reads, and locks nothing.
package largebatch
