package dialects

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Letter has the values in the headers of one dead letter. A field is zero if the headers do not have its value.
type Letter struct {
	Dialect Dialect

	// The position of the record that failed.
	Topic        string
	Partition    int32 // valid with Offset if HasPosition is set
	Offset       int64
	HasPosition  bool
	Timestamp    time.Time // timestamp of the record that failed
	Group        string    // consumer group, connector or handler in which the record failed
	ErrorClass   string    // class of the exception, as the framework reports it; often only a wrapper
	CauseClass   string    // class of the exception that caused ErrorClass
	CausedBy     string    // class and message of the innermost exception, from the stack trace
	ErrorMessage string
	Stage        string    // stage at which the record failed, in the framework's word
	Attempts     int       // number of attempts
	Due          time.Time // due time of the next attempt
	FirstAt      time.Time // time at which the record first arrived or first failed

	// Pointer is true if the dead letter's key and value are copies of the failed record's and may be missing.
	Pointer  bool
	Problems []string // descriptions of the values that were not understood
}

// Cause returns the short name of the class of the cause: NullPointerException for java.lang.NullPointerException.
func (l *Letter) Cause() string {
	class := l.CauseClass
	if class == "" {
		class = l.ErrorClass
	}
	return class[strings.LastIndexAny(class, ".$:/")+1:]
}

// Read reads the headers by the rules of a dialect. It never fails.
func Read(d Dialect, headers []kgo.RecordHeader) Letter {
	r := &reader{bag: headers}
	l := Letter{Dialect: d}
	switch d {
	case Spring:
		springPlain(r, &l)
	case SpringRetry:
		springRetry(r, &l)
	case Connect:
		connect(r, &l)
	case Streams:
		streams(r, &l)
	case Bakdata:
		bakdata(r, &l)
	case SmallRye:
		smallRye(r, &l)
	case ShareGroup:
		shareGroup(r, &l)
	case Watermill:
		watermill(r, &l)
	case Karafka:
		karafka(r, &l)
	case Trendyol:
		trendyol(r, &l)
	case Wolverine:
		wolverine(r, &l)
	case XOriginal:
		xOriginal(r, &l)
	case Native, Unknown:
	}
	if other := unordered(r.bag); other != Unknown && other != d && d != Native {
		r.problems = append(r.problems, fmt.Sprintf("headers of %s and of %s: it is unknown which are newer; --dialect %s reads the others", d, other, other))
	}
	l.Problems = r.problems
	return l
}

// KeepsTimestamp reports whether a dialect keeps the timestamp of the failed record as the timestamp of the dead letter,
// instead of writing a header. Kafka Connect and Kafka Streams do.
func KeepsTimestamp(d Dialect) bool { return d == Connect || d == Streams }

// IsOwn reports whether the framework of a dialect wrote a header, rather than the producer. A replay must leave these
// headers out. Spring continues to count from retry_topic-attempts. Kafka Connect and SmallRye add their headers a
// second time.
func IsOwn(d Dialect, name string) bool {
	for _, prefix := range ownPrefixes(d) {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// OfAny reports whether the framework of any dialect writes a header with this name.
func OfAny(name string) bool {
	return slices.ContainsFunc(Dialects(), func(d Dialect) bool { return IsOwn(d, name) })
}

func ownPrefixes(d Dialect) []string {
	switch d {
	case Native:
		return []string{nativePrefix}
	case Spring, SpringRetry:
		return []string{"kafka_dlt-", "kafka_original-", "kafka_exception-", "kafka_key-exception-", "retry_topic-", "kafka_deliveryAttempt", "springDeserializerException"}
	case Connect:
		return []string{"__connect.errors."}
	case Streams, Bakdata:
		return []string{"__streams.errors."}
	case SmallRye:
		return []string{"dead-letter-", "delayed-retry-", "deserialization-failure-"}
	case ShareGroup:
		return []string{"__dlq.errors."}
	case Watermill:
		return []string{"reason_poisoned", "topic_poisoned", "handler_poisoned", "subscriber_poisoned", "_watermill_requeuer_retries", "_watermill_delayed_"}
	case Karafka:
		return []string{"source_", "original_"}
	case Trendyol:
		return []string{"x-retry-count", "x-retry-attempt-count", "x-produce-time", "x-error-message"}
	case Wolverine:
		return []string{"wolverine-kafka-retry-", "exception-", "failed-at", "original-destination", "original-partition", "original-offset", "attempts"}
	case XOriginal:
		return []string{"x-original-", "x-exception-", "x-error-message"}
	case Unknown:
		return nil
	default:
		return nil
	}
}
