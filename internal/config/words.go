package config

// Delivery is what a crash may do to the output. It is a closed list (see [Deliveries]).
type Delivery string

// The deliveries of this version.
const (
	DeliveryExactlyOnce Delivery = "exactly_once"  // nothing lost, nothing doubled for a read_committed reader
	DeliveryAtLeastOnce Delivery = "at_least_once" // without transactions: nothing lost; a crash may double
)

// Deliveries returns every [Delivery].
func Deliveries() []Delivery { return []Delivery{DeliveryExactlyOnce, DeliveryAtLeastOnce} }

// OrderingMode is the order that is kept between the events of one key. It is a closed list (see [OrderingModes]).
type OrderingMode string

// The ordering modes of this version.
const (
	OrderingStrict     OrderingMode = "strict"      // events of a key take effect in source order
	OrderingLatestWins OrderingMode = "latest_wins" // an older event never takes effect after a newer one
	OrderingNone       OrderingMode = "none"        // a retried event may take effect after a later one
)

// OrderingModes returns every [OrderingMode].
func OrderingModes() []OrderingMode {
	return []OrderingMode{OrderingStrict, OrderingLatestWins, OrderingNone}
}

// OnDeadLetter is what strict order does with a key one of whose events died. It is a closed list (see [OnDeadLetters]).
type OnDeadLetter string

// The choices.
const (
	OnDeadLetterContinue OnDeadLetter = "continue" // the next event of the key goes on
	OnDeadLetterHoldKey  OnDeadLetter = "hold_key" // the key waits until the dead letter has been replayed
)

// OnDeadLetters returns every [OnDeadLetter].
func OnDeadLetters() []OnDeadLetter { return []OnDeadLetter{OnDeadLetterContinue, OnDeadLetterHoldKey} }

// KeepVersions is how long the newest version of a key is remembered. It is a closed list (see [KeepsVersions]).
type KeepVersions string

// The choices.
const (
	KeepVersionsAlways KeepVersions = "always" // as long as the key
	KeepVersionsWindow KeepVersions = "window" // while a record of the key waits or is a dead letter, and else for dedupe.window
)

// KeepsVersions returns every [KeepVersions].
func KeepsVersions() []KeepVersions { return []KeepVersions{KeepVersionsAlways, KeepVersionsWindow} }

// OutputFormat is how features are written. It is a closed list (see [OutputFormats]).
type OutputFormat string

// The formats of an output.
const (
	OutputGeoJSON OutputFormat = "geojson" // one RFC 7946 Feature per record
	OutputAvro    OutputFormat = "avro"    // the published feature event, schemas/feature-event.v1.avsc
)

// OutputFormats returns every [OutputFormat].
func OutputFormats() []OutputFormat { return []OutputFormat{OutputGeoJSON, OutputAvro} }

// BinaryText is how bytes are written as text. It is a closed list (see [BinaryTexts]).
type BinaryText string

// The texts of bytes.
const (
	BinaryBytes         BinaryText = "bytes"           // base64, but for texts that could be hexadecimal digits: these are refused
	BinaryBase64        BinaryText = "base64"          // of RFC 4648 section 4
	BinaryBase64URLSafe BinaryText = "base64_url_safe" // of RFC 4648 section 5
	BinaryHex           BinaryText = "hex"             // hexadecimal digits
)

// BinaryTexts returns every [BinaryText].
func BinaryTexts() []BinaryText {
	return []BinaryText{BinaryBytes, BinaryBase64, BinaryBase64URLSafe, BinaryHex}
}

// AvroFraming is how Avro says what it was written with. It is a closed list (see [AvroFramings]).
type AvroFraming string

// The framings.
const (
	FramingConfluent    AvroFraming = "confluent"     // the id of a schema registry stands before the datum
	FramingSingleObject AvroFraming = "single_object" // the fingerprint of the schema does; no registry is needed
)

// AvroFramings returns every [AvroFraming].
func AvroFramings() []AvroFraming { return []AvroFraming{FramingConfluent, FramingSingleObject} }

// AuditScope says which decisions are audited. It is a closed list (see [AuditScopes]).
type AuditScope string

// The audit scopes.
const (
	AuditFailures AuditScope = "failures" // all but deliveries at the first try
	AuditAll      AuditScope = "all"      // every decision
)

// AuditScopes returns every [AuditScope].
func AuditScopes() []AuditScope { return []AuditScope{AuditFailures, AuditAll} }

// NullKeyRule says what happens to a record without a key. It is a closed list (see [NullKeyRules]).
type NullKeyRule string

// The rules for null keys.
const (
	NullKeysReject NullKeyRule = "reject" // it becomes a dead letter
	NullKeysAccept NullKeyRule = "accept" // it is processed; Kafka keeps no order for it
)

// NullKeyRules returns every [NullKeyRule].
func NullKeyRules() []NullKeyRule { return []NullKeyRule{NullKeysReject, NullKeysAccept} }

// Strategy is how a retry delay comes about. It is a closed list (see [Strategies]).
type Strategy string

// The strategies.
const (
	StrategyTiers              Strategy = "tiers"               // the n-th failure waits in the n-th tier
	StrategyFixed              Strategy = "fixed"               // base every time
	StrategyExponential        Strategy = "exponential"         // min(cap, base * multiplier^(n-1)) (S2-1): the step of those below
	StrategyEqualJitter        Strategy = "equal_jitter"        // half the step and a random part of the other half
	StrategyFullJitter         Strategy = "full_jitter"         // a random part of the step
	StrategyDecorrelatedJitter Strategy = "decorrelated_jitter" // random from base to three times the delay before
	StrategyProportionalJitter Strategy = "proportional_jitter" // the step, more or less a share of it
)

// Strategies returns every [Strategy].
func Strategies() []Strategy {
	return []Strategy{
		StrategyTiers, StrategyFixed, StrategyExponential, StrategyEqualJitter, StrategyFullJitter,
		StrategyDecorrelatedJitter, StrategyProportionalJitter,
	}
}

// Preset names the figures of a retry policy that suit a kind of provider. It is a closed list (see [Presets]); the
// figures are the engine's.
type Preset string

// The presets.
const (
	PresetWFS      Preset = "wfs"
	PresetTiles    Preset = "tiles"
	PresetSTAC     Preset = "stac"
	PresetPostGIS  Preset = "postgis"
	PresetRegistry Preset = "registry"
)

// Presets returns every [Preset].
func Presets() []Preset {
	return []Preset{PresetWFS, PresetTiles, PresetSTAC, PresetPostGIS, PresetRegistry}
}

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

// HTTPMethod is how a remote service is asked. It is a closed list (see [HTTPMethods]).
type HTTPMethod string

// The methods.
const (
	HTTPMethodGet  HTTPMethod = "GET"
	HTTPMethodPost HTTPMethod = "POST"
)

// HTTPMethods returns every [HTTPMethod].
func HTTPMethods() []HTTPMethod { return []HTTPMethod{HTTPMethodGet, HTTPMethodPost} }

// AnswerFormat is what a remote service answers. It is a closed list (see [AnswerFormats]).
type AnswerFormat string

// The formats.
const (
	AnswerJSON    AnswerFormat = "json"    // any JSON value
	AnswerGeoJSON AnswerFormat = "geojson" // a Feature, or a FeatureCollection with one (RFC 7946)
)

// AnswerFormats returns every [AnswerFormat].
func AnswerFormats() []AnswerFormat { return []AnswerFormat{AnswerJSON, AnswerGeoJSON} }

// RetryAfterScope is whom a Retry-After concerns. It is a closed list (see [RetryAfterScopes]).
type RetryAfterScope string

// The scopes.
const (
	RetryAfterService RetryAfterScope = "service" // as HTTP means it: the service wants no request before
	RetryAfterRecord  RetryAfterScope = "record"  // the service refuses one feature and takes others
)

// RetryAfterScopes returns every [RetryAfterScope].
func RetryAfterScopes() []RetryAfterScope {
	return []RetryAfterScope{RetryAfterService, RetryAfterRecord}
}

// LogLevel is the least urgent level that is logged. It is a closed list (see [LogLevels]).
type LogLevel string

// The levels.
const (
	LogDebug LogLevel = "debug" // each first delivery, too
	LogInfo  LogLevel = "info"
	LogWarn  LogLevel = "warn"
	LogError LogLevel = "error"
)

// LogLevels returns every [LogLevel].
func LogLevels() []LogLevel { return []LogLevel{LogDebug, LogInfo, LogWarn, LogError} }

// BreakerPreset names the values of a circuit breaker. It is a closed list (see [BreakerPresets]).
type BreakerPreset string

// The presets.
const (
	BreakerSteady   BreakerPreset = "steady"   // 5 failures in 60 s that are half of the last 20 requests, 2 successes, 30 s
	BreakerStandard BreakerPreset = "standard" // S4-5: 5 failures in 60 s, 2 successes, 30 s
	BreakerPatient  BreakerPreset = "patient"  // S3-5: 3 failures in 300 s, 1 success, 300 s
)

// BreakerPresets returns every [BreakerPreset].
func BreakerPresets() []BreakerPreset {
	return []BreakerPreset{BreakerSteady, BreakerStandard, BreakerPatient}
}

// vocabulary is the list of words that a key takes, and of those that the design has for a later version.
type vocabulary struct{ now, later []string }

// closed is what the decoder and the schema ask a type for its words.
type closed interface{ vocabulary() vocabulary }

func (Delivery) vocabulary() vocabulary {
	return vocabulary{now: texts(Deliveries())}
}

func (OrderingMode) vocabulary() vocabulary {
	return vocabulary{now: texts(OrderingModes())}
}

func (OnDeadLetter) vocabulary() vocabulary { return vocabulary{now: texts(OnDeadLetters())} }

func (KeepVersions) vocabulary() vocabulary { return vocabulary{now: texts(KeepsVersions())} }

func (OutputFormat) vocabulary() vocabulary {
	return vocabulary{texts(OutputFormats()), []string{"cloudevents"}}
}

func (BinaryText) vocabulary() vocabulary  { return vocabulary{now: texts(BinaryTexts())} }
func (AvroFraming) vocabulary() vocabulary { return vocabulary{now: texts(AvroFramings())} }
func (AuditScope) vocabulary() vocabulary  { return vocabulary{now: texts(AuditScopes())} }
func (NullKeyRule) vocabulary() vocabulary { return vocabulary{now: texts(NullKeyRules())} }
func (Strategy) vocabulary() vocabulary    { return vocabulary{now: texts(Strategies())} }
func (Preset) vocabulary() vocabulary      { return vocabulary{now: texts(Presets())} }
func (Mechanism) vocabulary() vocabulary   { return vocabulary{now: texts(Mechanisms())} }
func (HTTPMethod) vocabulary() vocabulary  { return vocabulary{now: texts(HTTPMethods())} }

func (AnswerFormat) vocabulary() vocabulary { return vocabulary{now: texts(AnswerFormats())} }

func (RetryAfterScope) vocabulary() vocabulary {
	return vocabulary{now: texts(RetryAfterScopes())}
}

func (LogLevel) vocabulary() vocabulary      { return vocabulary{now: texts(LogLevels())} }
func (BreakerPreset) vocabulary() vocabulary { return vocabulary{now: texts(BreakerPresets())} }

func texts[W ~string](words []W) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = string(w)
	}
	return out
}
