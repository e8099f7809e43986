// Package lettermodel is the letters of a DLQ with their states, in memory, as the topics define
// them: the last record of a letter counts, and so does the last record of its state. Tests hold
// against it what finds letters in SQL (internal/dlqindex).
//
// It keeps every value, so it is for small topics.
package lettermodel
