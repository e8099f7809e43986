package dialects

import (
	"math"
	"strings"
	"time"
)

// What SmallRye's headers are known by.
const (
	smallRyeTopic      = "dead-letter-topic"
	smallRyeRetryTopic = "delayed-retry-topic"
)

// smallRye reads what SmallRye writes, all as text. New headers are put before those that the
// record has: of doubled ones the first is the newest. A letter that came through delayed retry
// has delayed-retry-* instead of dead-letter-*; of these only the last position names the source,
// the first ones name retry topics (seen with 4.36).
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

// watermillTopic is what watermill's headers are known by.
const watermillTopic = "topic_poisoned"

// watermill reads what its poison queue writes: a topic, and neither partition nor offset. The
// default marshaler loses the key as well.
func watermill(r *reader, l *Letter) {
	l.Topic = topicName(r.text(last, watermillTopic))
	l.ErrorMessage = r.text(last, "reason_poisoned")
	l.Group = r.text(last, "handler_poisoned")
	l.Attempts = r.attempts(last, "_watermill_requeuer_retries")
}

// karafka reads what Karafka Pro writes: source_ from 2.5 on, original_ before.
func karafka(r *reader, l *Letter) {
	prefix := "source_"
	if !r.has("source_topic") {
		prefix = "original_"
	}
	r.position(last, l, prefix+"topic", prefix+"partition", prefix+"offset")
	l.Group = r.text(last, prefix+"consumer_group")
	l.Attempts = r.attempts(last, prefix+"attempts")
}

// trendyol reads what kafka-konsumer and kafka-cronsumer write. The time is in nanoseconds; no
// position is kept.
func trendyol(r *reader, l *Letter) {
	l.ErrorMessage = r.text(last, "x-error-message")
	if l.Attempts = r.attempts(last, "x-retry-attempt-count"); l.Attempts == 0 {
		l.Attempts = r.attempts(last, "x-retry-count")
	}
	if n, ok := r.number(last, "x-produce-time", math.MaxInt64); ok {
		l.Timestamp = time.Unix(0, n).UTC().Truncate(time.Millisecond)
	}
}

// wolverine reads its dead letters, and records of its retry topics. The destination is an
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

// xOriginal reads what Spring Cloud Stream writes, whose numbers are binary, and home-made consumers after it, often as text.
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
