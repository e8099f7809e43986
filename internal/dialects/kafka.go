package dialects

// This file reads the headers of the frameworks of Apache Kafka itself. All values are text. Each framework appends its
// headers, so the last of repeated headers is the newest.

// position reads topic, partition and offset.
func (r *reader) position(p place, l *Letter, topic, partition, offset string) {
	r.positionIn(p, l, topicName(r.text(p, topic)), partition, offset)
}

// positionIn reads partition and offset in a topic whose name is known.
func (r *reader) positionIn(p place, l *Letter, topic, partition, offset string) {
	l.Topic = topic
	n, okP := r.number(p, partition, maxPartition)
	at, okO := r.number(p, offset, mostOffset)
	l.Partition, l.Offset, l.HasPosition = int32(n), at, l.Topic != "" && okP && okO //nolint:gosec // at most maxPartition
}

// connect reads the headers of a sink connector's DLQ. Kafka Connect writes them only with
// errors.deadletterqueue.context.headers.enable=true. The message may be null. Only the stack trace has the cause.
func connect(r *reader, l *Letter) {
	const prefix = "__connect.errors."
	r.position(last, l, prefix+"topic", prefix+"partition", prefix+"offset")
	l.Group = r.text(last, prefix+"connector.name")
	l.Stage = r.text(last, prefix+"stage")
	l.ErrorClass = r.text(last, prefix+"exception.class.name")
	l.ErrorMessage = r.text(last, prefix+"exception.message")
	l.CauseClass, l.CausedBy = r.rootCause(prefix + "exception.stacktrace")
}

// streams reads the headers of Kafka Streams (KIP-1034). The message may be null. Only the stack trace has the cause.
func streams(r *reader, l *Letter) {
	const prefix = "__streams.errors."
	r.position(last, l, prefix+"topic", prefix+"partition", prefix+"offset")
	l.ErrorClass = r.text(last, prefix+"exception")
	l.ErrorMessage = r.text(last, prefix+"message")
	l.CauseClass, l.CausedBy = r.rootCause(prefix + "stacktrace")
}

// bakdata reads the headers of bakdata's kafka-error-handling and of neo4j-streams. They have the prefix of Kafka
// Streams, but other names.
func bakdata(r *reader, l *Letter) {
	const prefix = "__streams.errors."
	r.position(last, l, prefix+"topic", prefix+"partition", prefix+"offset")
	l.ErrorClass = r.text(last, prefix+"exception.class.name")
	l.ErrorMessage = r.text(last, prefix+"exception.message")
	l.Stage = r.text(last, prefix+"processor.node.id")
	if l.ErrorMessage == "" {
		l.ErrorMessage = r.text(last, prefix+"description")
	}
}

// shareGroup reads the headers that a broker writes for a share group (KIP-1191). The broker copies key and value
// only if the group is configured to. If the broker does not know the topic's name, the header contains the topic ID.
func shareGroup(r *reader, l *Letter) {
	const prefix = "__dlq.errors."
	r.position(last, l, prefix+"topic", prefix+"partition", prefix+"offset")
	l.Group = r.text(last, prefix+"group")
	l.ErrorMessage = r.text(last, prefix+"message")
	l.Attempts = r.attempts(last, prefix+"delivery.count")
	l.Pointer = true
}
