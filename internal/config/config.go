package config

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/goccy/go-yaml"

	"github.com/switchback-geo/switchback/pkg/transform"
)

// Config is one pipeline file after [Load], with every default filled in and every rule checked. It contains no secret,
// so it may be printed, logged and shown.
type Config struct {
	// Pipeline sets the name of the pipeline, its retry policy and its error thresholds. Mandatory.
	Pipeline Pipeline `jsonschema:"required" yaml:"pipeline"`
	// Kafka configures the connection to the brokers.
	Kafka Kafka `yaml:"kafka"`
	// Source is the topic that features are read from.
	Source Source `yaml:"source"`
	// Output is the topic that transformed features are written to.
	Output Output `yaml:"output"`
	// Sink is an optional table that features are written to, in addition to the output topic.
	Sink Sink `yaml:"sink"`
	// SchemaRegistry configures the schema registry for Avro records.
	SchemaRegistry SchemaRegistry `yaml:"schema_registry"`
	// Topics sets the names and the size of the topics that belong to Switchback.
	Topics Topics `yaml:"topics"`
	// Delivery is the delivery guarantee of the output. exactly_once: a reader with read_committed sees no duplicates. at_least_once is for clusters without transactions: a crash or a rebalance produces some records again. Defaults to exactly_once.
	Delivery Delivery `jsonschema:"enum=exactly_once,enum=at_least_once,default=exactly_once" yaml:"delivery"`
	// Ordering configures the order of the events of one key.
	Ordering Ordering `yaml:"ordering"`
	// Dedupe configures how long the pipeline remembers the latest content of each key.
	Dedupe Dedupe `yaml:"dedupe"`
	// DeadLetters configures how dead letters are kept and replayed.
	DeadLetters DeadLetters `yaml:"dead_letters"`
	// Audit selects the decisions that are written to the audit topic. failures omits records delivered at the first attempt; all includes them. Defaults to failures.
	Audit AuditScope `jsonschema:"enum=failures,enum=all,default=failures" yaml:"audit"`
	// Transform maps source features onto the target schema.
	Transform transform.Config `yaml:"transform"`
	// Enrich lists the remote steps, in the order in which they run. Defaults to none.
	Enrich []EnrichStep `yaml:"enrich"`
	// Governance sets where records carry governance marks, and which marks forbid processing.
	Governance Governance `yaml:"governance"`
	// Metrics sets the address of /metrics, /healthz and /readyz.
	Metrics Metrics `yaml:"metrics"`
	// Log configures the log.
	Log Log `yaml:"log"`
	// Replayer configures the replayer for this pipeline.
	Replayer Replayer `yaml:"replayer"`
	// Engine tunes the process: concurrency, timeouts and memory.
	Engine Engine `yaml:"engine"`

	origins  *origins     // position of each value; see Position
	uncapped *RetryPolicy // the policy of the file, if CI lowered the attempts; see CappedByCI
}

// Pipeline is the part of the file that the first source document shows (S0-1).
type Pipeline struct {
	// ID names the pipeline in topics, headers, metrics and logs. Letters, digits, dot, underscore and hyphen, so that it can be part of a Kafka topic name. Mandatory.
	ID string `example:"municipal-parcel-sync" jsonschema:"required,pattern=^[a-zA-Z0-9._-]*[a-zA-Z0-9_-][a-zA-Z0-9._-]*$,maxLength=200" yaml:"id"`
	// RetryPolicy sets which failures are retried, how often and after what delay. Mandatory.
	RetryPolicy RetryPolicy `jsonschema:"required" yaml:"retry_policy"`
	// Tolerance sets the error thresholds of the pipeline. Mandatory.
	Tolerance Tolerance `jsonschema:"required" yaml:"tolerance"`
}

// Ordering configures the order of the events of one key (architecture, sections 1 and 3).
type Ordering struct {
	// Mode is the ordering guarantee. strict: the events of a key take effect in source order, even when an early event waits. latest_wins: an older event never takes effect after a newer one; it is closed as superseded. none: a retried event may take effect after a later one. Defaults to latest_wins.
	Mode OrderingMode `jsonschema:"enum=strict,enum=latest_wins,enum=none,default=latest_wins" yaml:"mode"`
	// OnDeadLetter sets how strict treats a key after one of its events became a dead letter. continue processes the next event. hold_key blocks the key until the dead letter has been replayed. Defaults to continue.
	OnDeadLetter OnDeadLetter `jsonschema:"enum=continue,enum=hold_key,default=continue" yaml:"on_dead_letter"`
	// Versions configures how long the newest version of a key is remembered. It applies if source.version names a property.
	Versions OrderingVersions `yaml:"versions"`
}

// OrderingVersions configures how long the newest version of a key is remembered. It applies if source.version names a property.
type OrderingVersions struct {
	// Keep selects the retention of versions. always keeps the version as long as the key. window keeps it for dedupe.window, and while a record of the key waits or is a dead letter. Defaults to always.
	Keep KeepVersions `jsonschema:"enum=always,enum=window,default=always" yaml:"keep"`
	// MaxKeys is the largest number of keys per partition. Beyond it, the keys with the oldest last event are forgotten and counted. An older version of a forgotten key can then take effect. A key costs at most 64 bytes of memory. Defaults to 10000000.
	MaxKeys int `jsonschema:"minimum=1,maximum=1000000000,default=10000000" yaml:"max_keys"`
}

// DeadLetters configures how dead letters are kept and replayed (S4-7, S4-8).
type DeadLetters struct {
	// MaxReplays is the largest number of replays of a dead letter. If the record fails again after that many, the dead letter becomes escalated instead of pending. Defaults to 3.
	MaxReplays int `jsonschema:"minimum=1,maximum=1000,default=3" yaml:"max_replays"`
	// KeepResolved is how long resolved dead letters are kept; replayer prune removes older ones. Defaults to 720h.
	KeepResolved Duration `jsonschema:"default=720h" least:"0s" most:"87600h" yaml:"keep_resolved"`
	// UnheardAfter applies to dead letters written by other software, which does not report success. A dead letter that was replayed and has not failed again within this time is shown as not heard of. Defaults to 1h.
	UnheardAfter Duration `jsonschema:"default=1h" least:"1s" most:"8760h" yaml:"unheard_after"`
}

// Dedupe configures how long the pipeline remembers the latest content of each key (S0-6). An event with the same content
// is closed as a duplicate. The contents A, B, A are three changes.
type Dedupe struct {
	// Window is how long the pipeline remembers the content; 0s turns deduplication off. Defaults to 24h.
	Window Duration `jsonschema:"default=24h" least:"0s" most:"8760h" yaml:"window"`
	// MaxKeys is the largest number of keys remembered per partition; beyond it, the oldest keys are forgotten. A key costs at most 64 bytes of memory. Defaults to 10000000.
	MaxKeys int `jsonschema:"minimum=1,maximum=1000000000,default=10000000" yaml:"max_keys"`
}

// YAML returns the configuration in the form of its file, with every default written out. Loading the result returns an
// equal configuration.
func (c Config) YAML() ([]byte, error) {
	out, err := yaml.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("write configuration as YAML: %w", err)
	}
	return out, nil
}

// Metrics configures the HTTP server that shows the state of the process.
type Metrics struct {
	// Listen is the host:port of /metrics, /healthz and /readyz; "" turns the server off. Defaults to 127.0.0.1:9464.
	Listen string `jsonschema:"pattern=^(.*:[0-9]+)?$,default=127.0.0.1:9464" yaml:"listen"`
}

// Log configures the log.
type Log struct {
	// Level is the lowest level that is logged: debug, info, warn or error. Defaults to info.
	Level LogLevel `jsonschema:"enum=debug,enum=info,enum=warn,enum=error,default=info" yaml:"level"`
}

// Slog returns the level as a level of the standard library.
func (l LogLevel) Slog() slog.Level {
	switch l {
	case LogDebug:
		return slog.LevelDebug
	case LogWarn:
		return slog.LevelWarn
	case LogError:
		return slog.LevelError
	case LogInfo:
	}
	return slog.LevelInfo
}

// Engine tunes the process: concurrency, timeouts and memory.
type Engine struct {
	// Instance names this process in its consumer group and its transactions, so that a restarted process takes over at once. Processes of one group need different names; the name control is reserved. Defaults to the host name; if another process of the group on this host has that name, to HOST-2 and so on.
	Instance string `jsonschema:"pattern=^[a-zA-Z0-9._-]*$,maxLength=200" yaml:"instance"`
	// Static keeps the group membership of a stopped instance for session_timeout, so that its partitions wait for it instead of moving. It needs a stable instance name. Defaults to false.
	Static bool `jsonschema:"default=false" yaml:"static"`
	// Concurrency is the number of records that are processed at once. Defaults to 64.
	Concurrency int `jsonschema:"minimum=1,maximum=10000,default=64" yaml:"concurrency"`
	// CommitInterval is how long finished results wait for other results before their transaction begins. Defaults to 10ms.
	CommitInterval Duration `jsonschema:"default=10ms" least:"0s" most:"1m" yaml:"commit_interval"`
	// TransactionTimeout is the time after which the broker aborts a transaction that was not ended. It can be short, because a transaction contains only finished work. Defaults to 10s.
	TransactionTimeout Duration `jsonschema:"default=10s" least:"1s" most:"15m" yaml:"transaction_timeout"`
	// SessionTimeout is the time without a heartbeat after which the group assigns the partitions to other instances. Defaults to 45s.
	SessionTimeout Duration `jsonschema:"default=45s" least:"1s" most:"30m" yaml:"session_timeout"`
	// MaxHeldRecords is the largest number of records that wait in memory, over all partitions. Defaults to 20000.
	MaxHeldRecords int `jsonschema:"minimum=1,maximum=100000000,default=20000" yaml:"max_held_records"`
	// MaxHeldBytes is the largest number of bytes of decompressed records that wait in memory, over all partitions. Defaults to 67108864 (64 MiB).
	MaxHeldBytes int `jsonschema:"minimum=1024,default=67108864" yaml:"max_held_bytes"`
	// HandlerTimeout is the longest time of one attempt at one record. Defaults to 60s.
	HandlerTimeout Duration `jsonschema:"default=60s" least:"1ms" most:"1h" yaml:"handler_timeout"`
	// ShutdownTimeout is the time within which the process ends after SIGTERM, even if something hangs. Running attempts have about half of it to finish. Defaults to 30s.
	ShutdownTimeout Duration `jsonschema:"default=30s" least:"2s" most:"1h" yaml:"shutdown_timeout"`
}

// Governance sets where records carry governance marks, and which marks forbid processing (S3-1, S3-8). A record that
// breaks a rule is never retried. It becomes a dead letter with the code governance_denied and the state escalated, and
// gets an entry in the governance ledger.
type Governance struct {
	// Care configures the marks that carry the CARE flags of a record.
	Care Mark `yaml:"care"`
	// Sovereignty configures the marks that name the owner of the data.
	Sovereignty Mark `yaml:"sovereignty"`
	// Lineage configures the marks that name the sources of a record.
	Lineage Mark `yaml:"lineage"`
	// EscalateAfterAttempts is the number of an attempt. If this attempt fails transiently at a record with CARE or sovereignty marks, an entry is written to the governance ledger. The retries continue. 0 writes no entry. Defaults to 0.
	EscalateAfterAttempts int `jsonschema:"minimum=0,maximum=1000,default=0" yaml:"escalate_after_attempts"`
	// Energy configures how the log computes the energy of an attempt.
	Energy Energy `yaml:"energy"`
}

// Mark configures one kind of governance mark. Several values are written as one text with commas, or as a list.
type Mark struct {
	// Header is the header from the producer that holds the mark. It is read before field. Defaults to none.
	Header string `jsonschema:"maxLength=200" yaml:"header"`
	// Field is the property of the feature that holds the mark, such as properties.care. Defaults to none.
	Field string `jsonschema:"pattern=^(properties\\..+)?$" yaml:"field"`
	// Required makes a record without the mark a violation; a delete needs no mark. Defaults to false.
	Required bool `jsonschema:"default=false" yaml:"required"`
	// Allow lists the permitted values; any other value is a violation. Defaults to all.
	Allow []string `jsonschema:"uniqueItems=true" yaml:"allow"`
	// Deny lists the forbidden values. Defaults to none.
	Deny []string `jsonschema:"uniqueItems=true" yaml:"deny"`
}

// Read reports whether records are read for this mark.
func (m Mark) Read() bool { return m.Header != "" || m.Field != "" }

// On reports whether any mark is read. If so, there is a governance ledger.
func (g Governance) On() bool { return g.Care.Read() || g.Sovereignty.Read() || g.Lineage.Read() }

// Energy converts measured CPU seconds into energy and emissions (S3-7).
type Energy struct {
	// WattsPerCPU is the power of one busy processor core, including its share of the machine, in watts. 0 omits energy from the log. Defaults to 0.
	WattsPerCPU float64 `jsonschema:"minimum=0,maximum=1000" yaml:"watts_per_cpu"`
	// GridGramsPerKWh is the carbon intensity of the electricity, in grams of CO2 equivalents per kilowatt-hour. Defaults to 0.
	GridGramsPerKWh float64 `jsonschema:"minimum=0,maximum=5000" yaml:"grid_grams_per_kwh"`
}

// Replayer configures the replayer for this pipeline.
type Replayer struct {
	// Index configures the SQL database of dead letters, for list, groups, stats and your own queries.
	Index ReplayerIndex `yaml:"index"`
	// Headers selects the headers of a dead letter that are replayed with it. These lists do not apply to control headers (switchback-…): the replayer rewrites those that are needed.
	Headers ReplayerHeaders `yaml:"headers"`
}

// ReplayerHeaders selects the headers of a dead letter that are replayed with it, unchanged, in order and with repetitions. Headers in which other software recorded the failure are not replayed.
type ReplayerHeaders struct {
	// Keep lists the headers that are replayed; a * matches any text. A name without * is kept even if the software that wrote the dead letter uses that name for its own headers. Defaults to all.
	Keep []string `example:"[traceparent, ce_*]" jsonschema:"maxItems=100,uniqueItems=true,default=*" yaml:"keep"`
	// Strip lists headers that are not replayed, even if keep lists them; a * matches any text. Defaults to none.
	Strip []string `example:"[x-debug-*]" jsonschema:"maxItems=100,uniqueItems=true" yaml:"strip,omitempty"`
}

// ReplayerIndex selects the SQL database of dead letters: a file or PostgreSQL. The database can be rebuilt from Kafka at any time.
type ReplayerIndex struct {
	// File is an SQLite file, which is created if it is missing. Defaults to one for each DLQ in the user's cache folder.
	File string `yaml:"file"`
	// DSNEnv names the environment variable with the address of a PostgreSQL database, as postgres://user:password@host:5432/name. Set either dsn_env or file. Defaults to none.
	DSNEnv string `echo:"no" jsonschema:"pattern=^([A-Za-z_][A-Za-z0-9_]*)?$" yaml:"dsn_env"`
}

// Place returns the location of the index: a file, a database address, or "" for the default. The error names the
// variable that is empty.
func (i ReplayerIndex) Place() (Secret, error) {
	if i.DSNEnv == "" {
		return NewSecret(i.File), nil
	}
	dsn := os.Getenv(i.DSNEnv)
	if dsn == "" {
		return Secret{}, fmt.Errorf("replayer.index.dsn_env names the variable %s, which is empty or not set", i.DSNEnv)
	}
	return NewSecret(dsn), nil
}
