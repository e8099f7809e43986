package dialects

import (
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Dialect says whose conventions the headers of a dead letter follow. It is a closed list (see
// [Dialects]).
type Dialect string

// The dialects.
const (
	Native      Dialect = "switchback"   // written by this software
	Spring      Dialect = "spring"       // Spring Kafka, DeadLetterPublishingRecoverer
	SpringRetry Dialect = "spring-retry" // Spring Kafka, @RetryableTopic: its retry topics and its DLT
	Connect     Dialect = "connect"      // Kafka Connect with context headers (KIP-298)
	Streams     Dialect = "streams"      // Kafka Streams 4.2 and later (KIP-1034)
	Bakdata     Dialect = "bakdata"      // bakdata's error handling and neo4j-streams, with the prefix of Streams
	SmallRye    Dialect = "smallrye"     // SmallRye Reactive Messaging, Quarkus: dead letters and delayed retry
	ShareGroup  Dialect = "share-group"  // share groups (KIP-1191); often a pointer without payload
	Watermill   Dialect = "watermill"    // watermill's poison queue
	Karafka     Dialect = "karafka"      // Karafka Pro
	Trendyol    Dialect = "trendyol"     // Trendyol's kafka-konsumer and kafka-cronsumer
	Wolverine   Dialect = "wolverine"    // Wolverine
	XOriginal   Dialect = "x-original"   // home-made: x-original-topic and the like
	Unknown     Dialect = "unknown"      // none of these: the operator says where a letter belongs
)

// Dialects returns every dialect.
func Dialects() []Dialect {
	return []Dialect{
		Native, Spring, SpringRetry, Connect, Streams, Bakdata, SmallRye, ShareGroup, Watermill, Karafka, Trendyol,
		Wolverine, XOriginal, Unknown,
	}
}

// Valid reports whether d is one of [Dialects].
func (d Dialect) Valid() bool { return slices.Contains(Dialects(), d) }

// Our own headers: all begin with the prefix, and every letter of ours says why it died.
const (
	nativePrefix = "switchback-"
	nativeDeath  = nativePrefix + "error-code"
)

// Detect says whose headers these are. A record that we put back has headers of ours as well, but
// none that say why it died: when other software fails on it, the letter is theirs.
func Detect(headers []kgo.RecordHeader) Dialect {
	h := bag(headers)
	if h.has(nativeDeath) {
		return Native
	}
	if d := detectForeign(h); d != Unknown {
		return d
	}
	if slices.ContainsFunc(headers, func(x kgo.RecordHeader) bool { return strings.HasPrefix(x.Key, nativePrefix) }) {
		return Native
	}
	return Unknown
}

// detectForeign looks for what only one framework writes. The order matters: a share group copies
// the headers of the record that it points at, so its own count first; Spring's retry topics have
// headers that its plain recoverer writes too, and so on.
func detectForeign(h bag) Dialect {
	switch {
	case h.has("__dlq.errors.group"):
		return ShareGroup
	case h.has("__connect.errors.connector.name"):
		return Connect
	case h.has("__streams.errors.exception"):
		return Streams
	case h.has("__streams.errors.exception.class.name"):
		return Bakdata
	case h.has("kafka_dlt-original-topic"):
		return Spring
	case h.has("retry_topic-attempts"), h.has("kafka_original-topic"):
		return SpringRetry
	case h.has("dead-letter-topic"), h.has("delayed-retry-topic"):
		return SmallRye
	case h.has("topic_poisoned"):
		return Watermill
	case h.has("source_topic") && h.has("source_offset"), h.has("original_topic") && h.has("original_offset"):
		return Karafka
	case h.has("x-retry-count"):
		return Trendyol
	case h.has("original-destination") && h.has("exception-type"), h.has("wolverine-kafka-retry-source"):
		return Wolverine
	case h.has("x-original-topic"):
		return XOriginal
	default:
		return Unknown
	}
}
