package config

import (
	"strconv"
	"time"
)

// Delivery is the delivery guarantee of the output after a crash. It is a closed list (see [Deliveries]).
type Delivery string

// The delivery guarantees of this version.
const (
	DeliveryExactlyOnce Delivery = "exactly_once"  // a read_committed consumer sees no loss and no duplicates
	DeliveryAtLeastOnce Delivery = "at_least_once" // without transactions: no loss, but a crash may produce duplicates
)

// Deliveries returns every [Delivery].
func Deliveries() []Delivery { return []Delivery{DeliveryExactlyOnce, DeliveryAtLeastOnce} }

// OrderingMode is the order that the pipeline keeps between the events of one key.
type OrderingMode string

// The ordering modes of this version.
const (
	OrderingStrict     OrderingMode = "strict"      // events of a key take effect in source order
	OrderingLatestWins OrderingMode = "latest_wins" // an older event never takes effect after a newer one
	OrderingNone       OrderingMode = "none"        // a retried event may take effect after a later one
)

// OnDeadLetter is the action of strict ordering for a key that has a dead letter.
type OnDeadLetter string

// The actions for a key with a dead letter.
const (
	OnDeadLetterContinue OnDeadLetter = "continue" // the next event of the key proceeds
	OnDeadLetterHoldKey  OnDeadLetter = "hold_key" // the key waits until its dead letter has been replayed
)

// KeepVersions is how long the pipeline remembers the newest version of a key.
type KeepVersions string

// The periods for which versions are kept.
const (
	KeepVersionsAlways KeepVersions = "always" // as long as the key exists
	KeepVersionsWindow KeepVersions = "window" // while a record of the key waits or is a dead letter, otherwise for dedupe.window
)

// OutputFormat is the format of the output records.
type OutputFormat string

// The output formats.
const (
	OutputGeoJSON OutputFormat = "geojson" // one RFC 7946 Feature per record
	OutputAvro    OutputFormat = "avro"    // the published feature event, schemas/feature-event.v1.avsc
)

// BinaryText is the text encoding of bytes.
type BinaryText string

// The text encodings of bytes.
const (
	BinaryBytes         BinaryText = "bytes"           // base64; refuses texts that could also be hexadecimal digits
	BinaryBase64        BinaryText = "base64"          // RFC 4648 section 4
	BinaryBase64URLSafe BinaryText = "base64_url_safe" // RFC 4648 section 5
	BinaryHex           BinaryText = "hex"             // hexadecimal digits
)

// AvroFraming is the prefix that identifies the schema of an Avro datum.
type AvroFraming string

// The Avro framings.
const (
	FramingConfluent    AvroFraming = "confluent"     // the schema ID of a registry precedes the datum
	FramingSingleObject AvroFraming = "single_object" // the fingerprint of the schema precedes the datum; no registry is needed
)

// AuditScope selects the decisions that are audited.
type AuditScope string

// The audit scopes.
const (
	AuditAll AuditScope = "all" // every decision
)

// NullKeyRule is the rule for records without a key.
type NullKeyRule string

// The rules for records without a key.
const (
	NullKeysReject NullKeyRule = "reject" // the record becomes a dead letter
	NullKeysAccept NullKeyRule = "accept" // the record is processed; Kafka keeps no order for it
)

// Mechanism is a SASL mechanism. It is a closed list (see [Mechanisms]).
type Mechanism string

// The SASL mechanisms.
const (
	MechanismNone        Mechanism = ""              // SASL is off
	MechanismPlain       Mechanism = "PLAIN"         // RFC 4616; use it only with TLS
	MechanismScramSHA256 Mechanism = "SCRAM-SHA-256" // RFC 7677
	MechanismScramSHA512 Mechanism = "SCRAM-SHA-512"
)

// Mechanisms returns every [Mechanism].
func Mechanisms() []Mechanism {
	return []Mechanism{MechanismNone, MechanismPlain, MechanismScramSHA256, MechanismScramSHA512}
}

// HTTPMethod is the method of a request to a remote service.
type HTTPMethod string

// The HTTP methods.
const (
	HTTPMethodGet  HTTPMethod = "GET"
	HTTPMethodPost HTTPMethod = "POST"
)

// AnswerFormat is the format of the answer of a remote service.
type AnswerFormat string

// The answer formats.
const (
	AnswerGeoJSON AnswerFormat = "geojson" // a Feature, or a FeatureCollection with one Feature (RFC 7946)
)

// RetryAfterScope selects the requests that a Retry-After delays.
type RetryAfterScope string

// The scopes of Retry-After.
const (
	RetryAfterService RetryAfterScope = "service" // the meaning in HTTP: the service accepts no request earlier
	RetryAfterRecord  RetryAfterScope = "record"  // the service refuses one feature and accepts others
)

// LogLevel is the least urgent level that is logged.
type LogLevel string

// The log levels.
const (
	LogDebug LogLevel = "debug" // includes each first delivery
	LogInfo  LogLevel = "info"
	LogWarn  LogLevel = "warn"
	LogError LogLevel = "error"
)

// BreakerPreset is the name of a set of breaker values.
type BreakerPreset string

// The breaker presets.
const (
	BreakerSteady   BreakerPreset = "steady"   // 5 failures in 60 s that are half of the last 20 requests, 2 successes, 30 s
	BreakerStandard BreakerPreset = "standard" // S4-5: 5 failures in 60 s, 2 successes, 30 s
	BreakerPatient  BreakerPreset = "patient"  // S3-5: 3 failures in 300 s, 1 success, 300 s
)

// VersionForm is the form of the property that orders the events of a key.
type VersionForm string

// The version forms.
const (
	VersionAny     VersionForm = "any"     // an RFC 3339 time, or a whole number that is not a time
	VersionRFC3339 VersionForm = "rfc3339" // only RFC 3339 times
	VersionUnixS   VersionForm = "unix_s"  // seconds since 1970
	VersionUnixMS  VersionForm = "unix_ms" // milliseconds since 1970
	VersionUnixUS  VersionForm = "unix_us" // microseconds since 1970
	VersionUnixNS  VersionForm = "unix_ns" // nanoseconds since 1970
	VersionNumber  VersionForm = "number"  // whole numbers that are not times, such as revisions
)

// Numbers reports whether whole numbers are versions.
func (f VersionForm) Numbers() bool { return f != VersionRFC3339 }

// Times reports whether RFC 3339 times are versions.
func (f VersionForm) Times() bool { return f == VersionRFC3339 || f == VersionAny }

// Number returns the version number of a time. ok is false if whole numbers are not times in this form.
func (f VersionForm) Number(at time.Time) (n int64, ok bool) {
	switch f {
	case VersionUnixS:
		return at.Unix(), true
	case VersionUnixMS:
		return at.UnixMilli(), true
	case VersionUnixUS:
		return at.UnixMicro(), true
	case VersionUnixNS:
		return at.UnixNano(), true
	default:
		return 0, false
	}
}

// texts converts words to strings.
func texts[W ~string](words []W) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = string(w)
	}
	return out
}

// Duration is a time.Duration that is written with its unit: 500ms, 2s, 1h.
type Duration time.Duration

// Std returns d as a time.Duration.
func (d Duration) Std() time.Duration { return time.Duration(d) }

// String formats d in the largest unit that needs one whole number: 500ms, 60s, 5m, 1h. One minute is 60s, as in the
// tier name of the design (retry-60s).
func (d Duration) String() string {
	std := time.Duration(d)
	switch {
	case std == 0 || std == time.Minute || std%time.Second == 0 && std%time.Minute != 0:
		return strconv.FormatInt(int64(std/time.Second), 10) + "s"
	case std%time.Hour == 0:
		return strconv.FormatInt(int64(std/time.Hour), 10) + "h"
	case std%time.Minute == 0:
		return strconv.FormatInt(int64(std/time.Minute), 10) + "m"
	case std%time.Millisecond == 0:
		return strconv.FormatInt(int64(std/time.Millisecond), 10) + "ms"
	default:
		return std.String()
	}
}

// MarshalText writes d as [Duration.String] does.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads "2s", "500ms" or "1h30m". It refuses a number without a unit.
func (d *Duration) UnmarshalText(text []byte) error {
	std, err := time.ParseDuration(string(text))
	if err != nil {
		return err
	}
	*d = Duration(std)
	return nil
}
