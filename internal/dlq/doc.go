// Package dlq answers the replayer's questions about dead letters: which there are, their causes, how many and how
// urgent, and everything about one of them.
//
// It brings the SQL index (internal/dlqindex) up to date before it answers, and reads from Kafka what the index does not
// keep: original bytes and headers, the hops of a dead letter in the audit topic, the traffic, and when retention
// deletes pending dead letters. It works on a pipeline's DLQ, and on any other DLQ with a known dialect.
//
// Its JSON types are the contract of the answers, for the command line and for HTTP alike.
//
// It prints nothing and changes nothing in Kafka. Command line and console use [Service]; internal/replay changes dead
// letters.
package dlq
