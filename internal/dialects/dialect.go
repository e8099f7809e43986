package dialects

import (
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Dialect names the software whose conventions the headers of a dead letter follow. It is a closed list (see
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
	XOriginal   Dialect = "x-original"   // Spring Cloud Stream, and home-made: x-original-topic and the like
	Unknown     Dialect = "unknown"      // none of these; the operator names the source of a dead letter
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

// The headers of Switchback all begin with nativePrefix. Every dead letter of Switchback has the header nativeDeath.
const (
	nativePrefix = "switchback-"
	nativeDeath  = nativePrefix + "error-code"
)

// Detect returns the dialect of a dead letter's headers. A record that was dead-lettered several times by different
// software has the headers of each. The newest headers decide. Most frameworks append their headers, so the last ones
// are the newest.
//
// Two frameworks do not append. SmallRye prepends its headers, and watermill writes all headers from a map in any order.
// The position of their headers is no evidence of time, so they decide only if no other dialect is found.
//
// A replayed record also has headers with nativePrefix, but no nativeDeath. These headers decide only if no other
// dialect is found.
func Detect(headers []kgo.RecordHeader) Dialect {
	h := bag(headers)
	found, newest := Unknown, -1
	for _, s := range signatures() {
		if at := s.at(h); at > newest {
			found, newest = s.dialect, at
		}
	}
	if found == Unknown {
		found = unordered(h)
	}
	switch {
	case found != Unknown:
		return found
	case slices.ContainsFunc(headers, func(x kgo.RecordHeader) bool { return strings.HasPrefix(x.Key, nativePrefix) }):
		return Native
	default:
		return Unknown
	}
}

// unordered returns the dialect that is present and does not append its headers, or [Unknown].
func unordered(h bag) Dialect {
	switch {
	case h.has(smallRyeTopic), h.has(smallRyeRetryTopic):
		return SmallRye
	case h.has(watermillTopic):
		return Watermill
	default:
		return Unknown
	}
}

// signature is a set of headers that only one dialect writes together.
type signature struct {
	dialect Dialect
	names   []string
}

// at returns the position of the last header of the signature, or -1 if one is missing.
func (s signature) at(h bag) int {
	at := -1
	for _, name := range s.names {
		i := h.index(last, name)
		if i < 0 {
			return -1
		}
		at = max(at, i)
	}
	return at
}

// signatures returns the signatures of all dialects that append their headers.
func signatures() []signature {
	return []signature{
		{Native, []string{nativeDeath}},
		{ShareGroup, []string{"__dlq.errors.group"}},
		{Connect, []string{"__connect.errors.connector.name"}},
		{Streams, []string{"__streams.errors.exception"}},
		{Bakdata, []string{"__streams.errors.exception.class.name"}},
		{Spring, []string{"kafka_dlt-original-topic"}},
		{SpringRetry, []string{"retry_topic-attempts"}},
		{SpringRetry, []string{"kafka_original-topic"}},
		{Karafka, []string{"source_topic", "source_offset"}},
		{Karafka, []string{"original_topic", "original_offset"}},
		{Trendyol, []string{"x-retry-count"}},
		{Wolverine, []string{"original-destination", "exception-type"}},
		{Wolverine, []string{"wolverine-kafka-retry-source"}},
		{XOriginal, []string{"x-original-topic"}},
	}
}
