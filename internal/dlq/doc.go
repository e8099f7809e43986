// Package dlq answers the replayer's questions about dead letters: their list, their causes, their number and
// urgency, and everything about one of them.
//
// It updates the SQL index (internal/dlqindex) before it answers, and reads from Kafka the data that the index does
// not keep: original bytes and headers, the hops of a dead letter in the audit topic, the traffic, and when retention
// deletes pending dead letters. It works on a pipeline's DLQ, and on any other DLQ with a known dialect.
//
// Its JSON types are the contract of the answers, for the command line and for HTTP alike.
//
// It prints nothing and changes nothing in Kafka. Command line and console use [Service]; internal/replay changes
// dead letters.
package dlq
