package dialects

// The frameworks of Apache Kafka itself. All values are text. Each adds its
// headers behind those that the record has, so of doubled ones the last is the newest.

// position reads topic, partition and offset.
func (r *reader) position(p place, l *Letter, topic, partition, offset string) {
	r.positionIn(p, l, topicName(r.text(p, topic)), partition, offset)
}

// positionIn is position in a topic whose name is known.
func (r *reader) positionIn(p place, l *Letter, topic, partition, offset string) {
	l.Topic = topic
	n, okP := r.number(p, partition, maxPartition)
	at, okO := r.number(p, offset, mostOffset)
	l.Partition, l.Offset, l.HasPosition = int32(n), at, l.Topic != "" && okP && okO //nolint:gosec // at most maxPartition
}

// connect reads what a sink's DLQ has with errors.deadletterqueue.context.headers.enable=true;
// without it there is nothing to read. The message may be null, and the cause stands in the stack
// trace only.
func connect(r *reader, l *Letter) {
	const prefix = "__connect.errors."
	r.position(last, l, prefix+"topic", prefix+"partition", prefix+"offset")
	l.Group = r.text(last, prefix+"connector.name")
	l.Stage = r.text(last, prefix+"stage")
	l.ErrorClass = r.text(last, prefix+"exception.class.name")
	l.ErrorMessage = r.text(last, prefix+"exception.message")
	l.CauseClass, l.CausedBy = r.rootCause(prefix + "exception.stacktrace")
}

// streams reads what Kafka Streams writes (KIP-1034). The message may be null, and the cause stands
// in the stack trace only.
func streams(r *reader, l *Letter) {
	const prefix = "__streams.errors."
	r.position(last, l, prefix+"topic", prefix+"partition", prefix+"offset")
	l.ErrorClass = r.text(last, prefix+"exception")
	l.ErrorMessage = r.text(last, prefix+"message")
	l.CauseClass, l.CausedBy = r.rootCause(prefix + "stacktrace")
}

// bakdata reads what bakdata's kafka-error-handling and neo4j-streams write: the prefix of Kafka
// Streams, other names.
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

// shareGroup reads what a broker writes for a share group (KIP-1191). Key and value are only
// copied when the group is configured so. The topic is a topic id where its name is not known.
func shareGroup(r *reader, l *Letter) {
	const prefix = "__dlq.errors."
	r.position(last, l, prefix+"topic", prefix+"partition", prefix+"offset")
	l.Group = r.text(last, prefix+"group")
	l.ErrorMessage = r.text(last, prefix+"message")
	l.Attempts = r.attempts(last, prefix+"delivery.count")
	l.Pointer = true
}
