package dialects

import "math"

// springPlain reads the headers of DeadLetterPublishingRecoverer. Numbers are binary, big endian. The recoverer appends
// its headers to those of an earlier dead letter (appendOriginalHeaders). The first original position is therefore the
// true origin, and the last exception is the newest. The class is usually ListenerExecutionFailedException, and the
// cause is the exception that the listener threw. If the exception has no wrapper, the cause is the exception itself.
func springPlain(r *reader, l *Letter) {
	springOriginal(r, l, "kafka_dlt-original-")
	springException(r, l, "kafka_dlt-")
	l.Attempts = springDeliveries(r)
}

// springDeliveries returns the number of deliveries before the record was dead-lettered, or 0 if it is unknown. Spring
// writes the number before the original-* headers of the same dead letter. If those of two dead letters follow the
// number, it belongs to an earlier one.
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

// springRetry reads the headers that @RetryableTopic writes in its retry topics and its DLT. They have the same meanings
// under other names. Only the group keeps the name of the plain recoverer. The headers retry_topic-* repeat at each hop,
// and the last ones count. retry_topic-attempts is the number of the next attempt, even in the DLT, where no attempt
// follows.
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

// springException reads the newest exception. It is the listener's, the value deserializer's, or the key deserializer's.
// The key's exception has its own header names, except for the cause. Spring removes the headers that it writes again,
// so the last headers are the newest. If key and value fail together, the value's headers follow the key's, and the
// cause is the value's.
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

// springAttempts reads a number of four bytes, or one unsigned byte as older versions write it. Like Spring, it replaces
// a number outside 1 to 32767 by 1.
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
		r.problem(name, "%d attempts: read as 1, as Spring does", n)
		return 1
	}
	return int(n)
}
