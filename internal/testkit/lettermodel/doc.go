// Package lettermodel is an in-memory model of the dead letters of a DLQ and their states, as the topics define them:
// the last record of a dead letter counts, and so does the last record of its state. Tests compare the SQL index
// (internal/dlqindex) with it.
//
// It keeps every value, so it is for small topics.
package lettermodel
