package dialects

import "math"

// springPlain reads what DeadLetterPublishingRecoverer writes. Numbers are binary, big endian. It
// appends its headers behind those of an earlier death (appendOriginalHeaders), so the first
// original is the true origin and the last exception the newest. The class is usually
// ListenerExecutionFailedException; the cause says more.
func springPlain(r *reader, l *Letter) {
	springOriginal(r, l, "kafka_dlt-original-")
	springException(r, l, "kafka_dlt-")
}

// springRetry reads what @RetryableTopic writes, in its retry topics and its DLT: the same
// meanings under other names, only the group keeps the name of the plain recoverer.
// retry_topic-* stand once for each hop: the last counts.
func springRetry(r *reader, l *Letter) {
	springOriginal(r, l, "kafka_original-")
	springException(r, l, "kafka_")
	l.Attempts = springAttempts(r)
	l.Due = r.bigInteger(last, "retry_topic-backoff-timestamp")
	l.FirstAt = r.bigInteger(last, "retry_topic-original-timestamp")
}

func springOriginal(r *reader, l *Letter, prefix string) {
	l.Topic = topicName(r.text(first, prefix+"topic"))
	p, okP := r.binary(first, prefix+"partition", 4)
	partition, okP := r.partition(prefix+"partition", p, okP)
	offset, okO := r.binary(first, prefix+"offset", 8)
	l.Partition, l.Offset, l.HasPosition = partition, offset, l.Topic != "" && okP && okO
	if ms, ok := r.binary(first, prefix+"timestamp", 8); ok {
		l.Timestamp = r.millis(prefix+"timestamp", ms)
	}
	l.Group = r.text(first, "kafka_dlt-original-consumer-group")
}

// springException reads the newest exception: that of the listener, or else that of the key's
// deserializer, which stands alone under names of its own.
func springException(r *reader, l *Letter, prefix string) {
	for _, kind := range []string{"exception-", "key-exception-"} {
		name := prefix + kind
		if !r.has(name + "fqcn") {
			continue
		}
		l.ErrorClass = r.text(last, name+"fqcn")
		l.CauseClass = r.text(last, name+"cause-fqcn")
		l.ErrorMessage = r.text(last, name+"message")
		if kind == "key-exception-" {
			l.Stage = "key"
		}
		return
	}
}

// springAttempts reads a number of four bytes, or one unsigned byte as older versions wrote it.
// Like Spring, it takes what is not from 1 to 32767 for 1.
func springAttempts(r *reader) int {
	const name = "retry_topic-attempts"
	v, ok := r.last(name)
	if !ok {
		return 0
	}
	var n int64
	if len(v) == 1 {
		n = int64(v[0])
	} else if n, ok = r.binary(last, name, 4); !ok {
		return 1
	}
	if n < 1 || n > math.MaxInt16 {
		r.problem(name, "%d attempts: taken for 1, as Spring does", n)
		return 1
	}
	return int(n)
}
