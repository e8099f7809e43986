// Package statestore knows where the replayer keeps the states, audit events, jobs and lease of a DLQ: in topics, or,
// for a DLQ without a pipeline, in a directory if the operator names one (docs/decisions/0171).
//
// It refuses a directory for a DLQ whose states are in a topic: dead letters that were put back would go back again.
package statestore
