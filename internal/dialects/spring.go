package dialects

import "math"

// springPlain reads what DeadLetterPublishingRecoverer writes. Numbers are binary, big endian. It
// appends its headers behind those of an earlier death (appendOriginalHeaders), so the first
// original is the true origin and the last exception the newest. The class is usually
// ListenerExecutionFailedException, and the cause what the listener threw; where nothing is wrapped,
// the cause is the exception itself.
func springPlain(r *reader, l *Letter) {
	springOriginal(r, l, "kafka_dlt-original-")
	springException(r, l, "kafka_dlt-")
	l.Attempts = springDeliveries(r)
}

// springDeliveries reads how often the record was delivered before it died; 0 when that is not said. It is said in front
// of the originals of its death: with those of two deaths behind it, it speaks of an earlier one.
func springDeliveries(r *reader) int {
	const name = "kafka_deliveryAttempt"
	deaths := 0
	for _, h := range r.bag[r.index(last, name)+1:] {
		if h.Key == "kafka_dlt-original-topic" {
			deaths++
		}
	}
	if deaths > 1 {
		return 0
	}
	return r.attempts(last, name)
}

// springRetry reads what @RetryableTopic writes, in its retry topics and its DLT: the same
// meanings under other names, only the group keeps the name of the plain recoverer.
// retry_topic-* stand once for each hop: the last counts. Its attempt is the one that comes next,
// in the DLT too, where none comes.
func springRetry(r *reader, l *Letter) {
	springOriginal(r, l, "kafka_original-")
	springException(r, l, "kafka_")
	if next := springAttempts(r); next > 0 {
		l.Attempts = max(next-1, 1)
	}
	l.Due = r.millis(last, "retry_topic-backoff-timestamp")
	l.FirstAt = r.millis(last, "retry_topic-original-timestamp")
}

func springOriginal(r *reader, l *Letter, prefix string) {
	r.position(first, l, prefix+"topic", prefix+"partition", prefix+"offset")
	l.Timestamp = r.millis(first, prefix+"timestamp")
	l.Group = r.text(first, "kafka_dlt-original-consumer-group")
}

// springException reads the newest exception: that of the listener, of the value's deserializer, or
// of the key's, which has names of its own for all but the cause. It takes away the headers that it
// writes again, so what stands last is the newest; when key and value fail together, the value's
// stands behind the key's, and the cause is the value's.
func springException(r *reader, l *Letter, prefix string) {
	ofKey, ofListener := r.index(last, prefix+"key-exception-fqcn"), r.index(last, prefix+"exception-fqcn")
	name := prefix + "exception-"
	if ofKey > ofListener {
		name, l.Stage = prefix+"key-exception-", "key"
	}
	l.ErrorClass = r.text(last, name+"fqcn")
	l.CauseClass = r.text(last, prefix+"exception-cause-fqcn")
	l.ErrorMessage = r.text(last, name+"message")
	_, l.CausedBy = r.rootCause(name + "stacktrace")
}

// springAttempts reads a number of four bytes, or one unsigned byte as older versions wrote it.
// Like Spring, it takes what is not from 1 to 32767 for 1.
func springAttempts(r *reader) int {
	const name = "retry_topic-attempts"
	v, ok := r.at(last, name)
	if !ok {
		return 0
	}
	var n int64
	if len(v) == 1 {
		n = int64(v[0])
	} else if n, ok = r.number(last, name, mostAttempts); !ok {
		return 1
	}
	if n < 1 || n > math.MaxInt16 {
		r.problem(name, "%d attempts: taken for 1, as Spring does", n)
		return 1
	}
	return int(n)
}
