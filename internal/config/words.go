package config

import (
	"strconv"
	"time"
)

// Delivery is what a crash may do to the output. It is a closed list (see [Deliveries]).
type Delivery string

// The deliveries of this version.
const (
	DeliveryExactlyOnce Delivery = "exactly_once"  // nothing lost, nothing doubled for a read_committed reader
	DeliveryAtLeastOnce Delivery = "at_least_once" // without transactions: nothing lost; a crash may double
)

// Deliveries returns every [Delivery].
func Deliveries() []Delivery { return []Delivery{DeliveryExactlyOnce, DeliveryAtLeastOnce} }

// OrderingMode is the order that is kept between the events of one key.
type OrderingMode string

// The ordering modes of this version.
const (
	OrderingStrict     OrderingMode = "strict"      // events of a key take effect in source order
	OrderingLatestWins OrderingMode = "latest_wins" // an older event never takes effect after a newer one
	OrderingNone       OrderingMode = "none"        // a retried event may take effect after a later one
)

// OnDeadLetter is what strict order does with a key one of whose events died.
type OnDeadLetter string

// The choices.
const (
	OnDeadLetterContinue OnDeadLetter = "continue" // the next event of the key goes on
	OnDeadLetterHoldKey  OnDeadLetter = "hold_key" // the key waits until the dead letter has been replayed
)

// KeepVersions is how long the newest version of a key is remembered.
type KeepVersions string

// The choices.
const (
	KeepVersionsAlways KeepVersions = "always" // as long as the key
	KeepVersionsWindow KeepVersions = "window" // while a record of the key waits or is a dead letter, and else for dedupe.window
)

// OutputFormat is how features are written.
type OutputFormat string

// The formats of an output.
const (
	OutputGeoJSON OutputFormat = "geojson" // one RFC 7946 Feature per record
	OutputAvro    OutputFormat = "avro"    // the published feature event, schemas/feature-event.v1.avsc
)

// BinaryText is how bytes are written as text.
type BinaryText string

// The texts of bytes.
const (
	BinaryBytes         BinaryText = "bytes"           // base64, but for texts that could be hexadecimal digits: these are refused
	BinaryBase64        BinaryText = "base64"          // of RFC 4648 section 4
	BinaryBase64URLSafe BinaryText = "base64_url_safe" // of RFC 4648 section 5
	BinaryHex           BinaryText = "hex"             // hexadecimal digits
)

// AvroFraming is how Avro says what it was written with.
type AvroFraming string

// The framings.
const (
	FramingConfluent    AvroFraming = "confluent"     // the id of a schema registry stands before the datum
	FramingSingleObject AvroFraming = "single_object" // the fingerprint of the schema does; no registry is needed
)

// AuditScope says which decisions are audited.
type AuditScope string

// The audit scopes.
const (
	AuditAll AuditScope = "all" // every decision
)

// NullKeyRule says what happens to a record without a key.
type NullKeyRule string

// The rules for null keys.
const (
	NullKeysReject NullKeyRule = "reject" // it becomes a dead letter
	NullKeysAccept NullKeyRule = "accept" // it is processed; Kafka keeps no order for it
)

// Mechanism is a SASL mechanism. It is a closed list (see [Mechanisms]).
type Mechanism string

// The mechanisms.
const (
	MechanismNone        Mechanism = ""              // SASL is off
	MechanismPlain       Mechanism = "PLAIN"         // RFC 4616; use it with TLS only
	MechanismScramSHA256 Mechanism = "SCRAM-SHA-256" // RFC 7677
	MechanismScramSHA512 Mechanism = "SCRAM-SHA-512"
)

// Mechanisms returns every [Mechanism].
func Mechanisms() []Mechanism {
	return []Mechanism{MechanismNone, MechanismPlain, MechanismScramSHA256, MechanismScramSHA512}
}

// HTTPMethod is how a remote service is asked.
type HTTPMethod string

// The methods.
const (
	HTTPMethodGet  HTTPMethod = "GET"
	HTTPMethodPost HTTPMethod = "POST"
)

// AnswerFormat is what a remote service answers.
type AnswerFormat string

// The formats.
const (
	AnswerGeoJSON AnswerFormat = "geojson" // a Feature, or a FeatureCollection with one (RFC 7946)
)

// RetryAfterScope is whom a Retry-After concerns.
type RetryAfterScope string

// The scopes.
const (
	RetryAfterService RetryAfterScope = "service" // as HTTP means it: the service wants no request before
	RetryAfterRecord  RetryAfterScope = "record"  // the service refuses one feature and takes others
)

// LogLevel is the least urgent level that is logged.
type LogLevel string

// The levels.
const (
	LogDebug LogLevel = "debug" // each first delivery, too
	LogInfo  LogLevel = "info"
	LogWarn  LogLevel = "warn"
	LogError LogLevel = "error"
)

// BreakerPreset names the values of a circuit breaker.
type BreakerPreset string

// The presets.
const (
	BreakerSteady   BreakerPreset = "steady"   // 5 failures in 60 s that are half of the last 20 requests, 2 successes, 30 s
	BreakerStandard BreakerPreset = "standard" // S4-5: 5 failures in 60 s, 2 successes, 30 s
	BreakerPatient  BreakerPreset = "patient"  // S3-5: 3 failures in 300 s, 1 success, 300 s
)

// VersionForm is what the property that orders the events of a key holds.
type VersionForm string

// The choices.
const (
	VersionAny     VersionForm = "any"     // an RFC 3339 time, or a whole number that is no time
	VersionRFC3339 VersionForm = "rfc3339" // nothing but RFC 3339 times
	VersionUnixS   VersionForm = "unix_s"  // seconds since 1970
	VersionUnixMS  VersionForm = "unix_ms" // milliseconds since 1970
	VersionUnixUS  VersionForm = "unix_us" // microseconds since 1970
	VersionUnixNS  VersionForm = "unix_ns" // nanoseconds since 1970
	VersionNumber  VersionForm = "number"  // whole numbers that are no times: a revision
)

// Numbers reports whether whole numbers are versions, and Times whether RFC 3339 times are.
func (f VersionForm) Numbers() bool { return f != VersionRFC3339 }

// Times reports whether RFC 3339 times are versions.
func (f VersionForm) Times() bool { return f == VersionRFC3339 || f == VersionAny }

// Number returns the version that a time has where whole numbers are times; ok is false where they are not.
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

// texts returns words as plain text.
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

// String writes d in the largest unit that needs one whole number: 500ms, 60s, 5m, 1h. One minute
// is 60s, since that is how the tier of the design is called (retry-60s).
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

// UnmarshalText reads "2s", "500ms", "1h30m". A number without a unit is refused.
func (d *Duration) UnmarshalText(text []byte) error {
	std, err := time.ParseDuration(string(text))
	if err != nil {
		return err
	}
	*d = Duration(std)
	return nil
}
