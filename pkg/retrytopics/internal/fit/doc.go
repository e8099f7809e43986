// Package fit tells whether a topic takes a record, and says why if it does not. If a record does not fit into a retry
// topic or the DLQ, the DLQ gets a pointer to it: its position, size, hash and first bytes. So the flow goes on, whatever
// the brokers accept.
//
// The package decides nothing about a record, and asks no broker: it knows the limits that the cluster has told.
package fit
