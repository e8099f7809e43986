// Package dlq answers the replayer's questions about dead letters: which there are, of what
// they died, how many and how urgent, and everything about one of them.
//
// It brings the SQL index (internal/dlqindex) up to date before it answers, and takes from Kafka what
// the index does not keep: original bytes and headers, the hops of a letter in the audit topic,
// how much traffic there was, and when retention deletes what nobody has looked at. It works on
// the DLQ of a pipeline, and on any other DLQ as its dialect writes it.
//
// Its JSON types are the contract of the answers, for the command line and for HTTP alike.
//
// It prints nothing and changes nothing in Kafka: command line and consoles stand on top of
// [Service], and what changes letters is internal/replay.
package dlq
