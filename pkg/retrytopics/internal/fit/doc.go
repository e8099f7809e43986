// Package fit decides whether a topic accepts a record, and returns the reason if it does not. If a record does not
// fit into a retry topic or the DLQ, the DLQ gets a pointer to it: its position, size, hash and first bytes.
// Processing therefore continues, whatever the brokers accept.
//
// The package decides nothing else about a record, and asks no broker: it uses the limits that the cluster has
// reported.
package fit
