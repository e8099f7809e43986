package dialects

import (
	"math"
	"strings"
	"time"
)

// These headers identify SmallRye.
const (
	smallRyeTopic      = "dead-letter-topic"
	smallRyeRetryTopic = "delayed-retry-topic"
)

// smallRye reads the headers of SmallRye. All values are text. SmallRye prepends new headers, so the first of repeated
// headers is the newest. A dead letter from delayed retry has delayed-retry-* instead of dead-letter-*. Of the
// delayed-retry-* headers only the last position names the source; the first ones name retry topics (observed with
// 4.36).
func smallRye(r *reader, l *Letter) {
	prefix, origin := "dead-letter-", first
	if !r.has(smallRyeTopic) {
		prefix, origin = "delayed-retry-", last
	}
	r.position(origin, l, prefix+"topic", prefix+"partition", prefix+"offset")
	l.ErrorClass = r.text(first, prefix+"exception-class-name")
	l.CauseClass = r.text(first, prefix+"cause-class-name")
	l.ErrorMessage = r.text(first, prefix+"reason")
	l.Attempts = r.attempts(first, "delayed-retry-count")
	l.Timestamp = r.millis(last, "delayed-retry-original-timestamp")
	l.FirstAt = r.millis(last, "delayed-retry-first-processing-timestamp")
	if reason := r.text(first, "deserialization-failure-reason"); reason != "" {
		l.Stage = "deserialization"
		if l.ErrorMessage == "" {
			l.ErrorMessage = reason
		}
	}
}

// watermillTopic is the header that identifies watermill.
const watermillTopic = "topic_poisoned"

// watermill reads the headers of watermill's poison queue. They have a topic, but no partition and no offset. The
// default marshaler also loses the key.
func watermill(r *reader, l *Letter) {
	l.Topic = topicName(r.text(last, watermillTopic))
	l.ErrorMessage = r.text(last, "reason_poisoned")
	l.Group = r.text(last, "handler_poisoned")
	l.Attempts = r.attempts(last, "_watermill_requeuer_retries")
}

// karafka reads the headers of Karafka Pro. They begin with source_ since version 2.5, and with original_ before.
func karafka(r *reader, l *Letter) {
	prefix := "source_"
	if !r.has("source_topic") {
		prefix = "original_"
	}
	r.position(last, l, prefix+"topic", prefix+"partition", prefix+"offset")
	l.Group = r.text(last, prefix+"consumer_group")
	l.Attempts = r.attempts(last, prefix+"attempts")
}

// trendyol reads the headers of kafka-konsumer and kafka-cronsumer. The time is in nanoseconds. There is no position.
func trendyol(r *reader, l *Letter) {
	l.ErrorMessage = r.text(last, "x-error-message")
	if l.Attempts = r.attempts(last, "x-retry-attempt-count"); l.Attempts == 0 {
		l.Attempts = r.attempts(last, "x-retry-count")
	}
	if n, ok := r.number(last, "x-produce-time", math.MaxInt64); ok {
		l.Timestamp = time.Unix(0, n).UTC().Truncate(time.Millisecond)
	}
}

// wolverine reads the headers of Wolverine's dead letters and of the records in its retry topics. The destination is an
// address such as kafka://topic/orders.
func wolverine(r *reader, l *Letter) {
	destination := r.text(last, "original-destination")
	if destination == "" {
		l.Topic = topicName(r.text(last, "wolverine-kafka-retry-source"))
		l.ErrorClass = r.text(last, "wolverine-kafka-retry-exception-type")
		l.ErrorMessage = r.text(last, "wolverine-kafka-retry-exception-message")
		l.Attempts = r.attempts(last, "wolverine-kafka-retry-attempt")
		return
	}
	r.positionIn(last, l, topicName(destination[strings.LastIndexByte(destination, '/')+1:]), "original-partition", "original-offset")
	l.ErrorClass = r.text(last, "exception-type")
	l.ErrorMessage = r.text(last, "exception-message")
	l.Attempts = r.attempts(last, "attempts")
}

// xOriginal reads the headers of Spring Cloud Stream, whose numbers are binary. It also reads those of home-made
// consumers that imitate it, often with numbers as text.
func xOriginal(r *reader, l *Letter) {
	r.position(last, l, "x-original-topic", "x-original-partition", "x-original-offset")
	l.Timestamp = r.millis(last, "x-original-timestamp")
	for _, name := range []string{"x-error-message", "x-exception-message"} {
		if text := r.text(last, name); text != "" {
			l.ErrorMessage = text
		}
	}
	if l.ErrorClass = r.text(last, "x-exception-fqcn"); l.ErrorClass == "" {
		l.ErrorClass = r.text(last, "x-exception-class")
	}
	l.CauseClass, l.CausedBy = r.rootCause("x-exception-stacktrace")
}
