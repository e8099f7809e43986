package config

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/goccy/go-yaml"

	"github.com/switchback-geo/switchback/pkg/transform"
)

// Config is one pipeline file after [Load], with every default filled in and every rule checked. It holds no secret, so
// it may be printed, logged and shown.
type Config struct {
	// Pipeline says what the pipeline is called, how it retries and what it tolerates. Mandatory.
	Pipeline Pipeline `jsonschema:"required" yaml:"pipeline"`
	// Kafka says how to reach the brokers.
	Kafka Kafka `yaml:"kafka"`
	// Source is the topic that features are read from.
	Source Source `yaml:"source"`
	// Output is the topic that transformed features are written to.
	Output Output `yaml:"output"`
	// Sink is where features are written besides.
	Sink Sink `yaml:"sink"`
	// SchemaRegistry says where the schemas of Avro records are.
	SchemaRegistry SchemaRegistry `yaml:"schema_registry"`
	// Topics names the topics that Switchback keeps for itself, and their size.
	Topics Topics `yaml:"topics"`
	// Delivery is what a crash may do to the output: exactly_once doubles nothing for a reader with read_committed; at_least_once is for clusters without transactions, where a crash or a rebalance produces some records again. Defaults to exactly_once.
	Delivery Delivery `jsonschema:"enum=exactly_once,enum=at_least_once,default=exactly_once" yaml:"delivery"`
	// Ordering says which order of the events of one key is kept.
	Ordering Ordering `yaml:"ordering"`
	// Dedupe says how long the pipeline remembers what took effect last for each key.
	Dedupe Dedupe `yaml:"dedupe"`
	// DeadLetters says what becomes of dead letters.
	DeadLetters DeadLetters `yaml:"dead_letters"`
	// Audit says which decisions are written to the audit topic: failures leaves out deliveries at the first try, all writes them too. Defaults to failures.
	Audit AuditScope `jsonschema:"enum=failures,enum=all,default=failures" yaml:"audit"`
	// Transform maps source features onto the target schema.
	Transform transform.Config `yaml:"transform"`
	// Enrich lists the remote steps, in the order in which they run. Defaults to none.
	Enrich []EnrichStep `yaml:"enrich"`
	// Governance says which marks about the use of its content a record carries, and which of them forbid to process it.
	Governance Governance `yaml:"governance"`
	// Metrics says where /metrics, /healthz and /readyz listen.
	Metrics Metrics `yaml:"metrics"`
	// Log says what is logged.
	Log Log `yaml:"log"`
	// Replayer says how the replayer works for this pipeline.
	Replayer Replayer `yaml:"replayer"`
	// Engine tunes the process: how much at once, how long, how often.
	Engine Engine `yaml:"engine"`

	origins  *origins     // position of each value; see Position
	uncapped *RetryPolicy // the policy of the file, if CI lowered the attempts; see CappedByCI
}

// Pipeline is the part of the file that the first source document shows (S0-1).
type Pipeline struct {
	// ID names the pipeline in topics, headers, metrics and logs. Letters, digits, dot, underscore and hyphen, so that it can be part of a Kafka topic name. Mandatory.
	ID string `example:"municipal-parcel-sync" jsonschema:"required,pattern=^[a-zA-Z0-9._-]*[a-zA-Z0-9_-][a-zA-Z0-9._-]*$,maxLength=200" yaml:"id"`
	// RetryPolicy says what is tried again, how often and after what delay. Mandatory.
	RetryPolicy RetryPolicy `jsonschema:"required" yaml:"retry_policy"`
	// Tolerance sets the error thresholds of the pipeline. Mandatory.
	Tolerance Tolerance `jsonschema:"required" yaml:"tolerance"`
}

// Ordering says which order of the events of one key is kept (architecture, sections 1 and 3).
type Ordering struct {
	// Mode is the order that is promised. strict: the events of a key take effect in source order, even when an early one waits. latest_wins: an older event never takes effect after a newer one; it is closed as superseded. none: a retried event may take effect after a later one. Defaults to latest_wins.
	Mode OrderingMode `jsonschema:"enum=strict,enum=latest_wins,enum=none,default=latest_wins" yaml:"mode"`
	// OnDeadLetter says what strict does with a key one of whose events died: continue goes on with the next, hold_key waits until the dead letter has been replayed. Defaults to continue.
	OnDeadLetter OnDeadLetter `jsonschema:"enum=continue,enum=hold_key,default=continue" yaml:"on_dead_letter"`
	// Versions says how long the newest version of a key is remembered, where source.version names one.
	Versions OrderingVersions `yaml:"versions"`
}

// OrderingVersions says how long the newest version of a key is remembered, where source.version names one.
type OrderingVersions struct {
	// Keep says how long: always, as long as the key; or window, while a record of the key waits or is a dead letter, and else for dedupe.window. Defaults to always.
	Keep KeepVersions `jsonschema:"enum=always,enum=window,default=always" yaml:"keep"`
	// MaxKeys is for how many keys of a partition; beyond it those whose last event is the oldest are forgotten and counted, and an older version of theirs can take effect. A key costs at most 64 bytes of memory. Defaults to 10000000.
	MaxKeys int `jsonschema:"minimum=1,maximum=1000000000,default=10000000" yaml:"max_keys"`
}

// DeadLetters says what becomes of dead letters (S4-7, S4-8).
type DeadLetters struct {
	// MaxReplays is how often a letter is put back before one that failed again is escalated instead of being pending. Defaults to 3.
	MaxReplays int `jsonschema:"minimum=1,maximum=1000,default=3" yaml:"max_replays"`
	// KeepResolved is how long letters are kept for which nothing is left to do; replayer prune removes those that are older. Defaults to 720h.
	KeepResolved Duration `jsonschema:"default=720h" least:"0s" most:"87600h" yaml:"keep_resolved"`
	// UnheardAfter is after what time a letter of other software that was put back, and has not died again, is shown as not heard of: that software says nothing when it succeeds. Defaults to 1h.
	UnheardAfter Duration `jsonschema:"default=1h" least:"1s" most:"8760h" yaml:"unheard_after"`
}

// Dedupe says how long the pipeline remembers what took effect last for each key (S0-6). An event with the same content is
// closed as a duplicate; A, B, A are three changes.
type Dedupe struct {
	// Window is how long it is remembered; 0s turns it off. Defaults to 24h.
	Window Duration `jsonschema:"default=24h" least:"0s" most:"8760h" yaml:"window"`
	// MaxKeys is for how many keys of a partition it is remembered at the most; beyond it the oldest are forgotten. A key costs at most 64 bytes of memory. Defaults to 10000000.
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

// Metrics says where the process shows its state.
type Metrics struct {
	// Listen is host:port for /metrics, /healthz and /readyz; "" turns them off. Defaults to 127.0.0.1:9464.
	Listen string `jsonschema:"pattern=^(.*:[0-9]+)?$,default=127.0.0.1:9464" yaml:"listen"`
}

// Log says what is logged.
type Log struct {
	// Level is the least urgent level that is logged: debug, info, warn or error. Defaults to info.
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

// Engine tunes the process: how much at once, how long, how often.
type Engine struct {
	// Instance names this process in its group and its transactions, so that a restart takes over from its predecessor at once. Two processes of one group need two names; control is taken. Defaults to the host name; where another process of the group has that on this host, to HOST-2 and so on.
	Instance string `jsonschema:"pattern=^[a-zA-Z0-9._-]*$,maxLength=200" yaml:"instance"`
	// Static keeps the group membership of an instance that is stopped for session_timeout: its partitions wait for it instead of moving. It needs an instance name that is stable. Defaults to false.
	Static bool `jsonschema:"default=false" yaml:"static"`
	// Concurrency is how many records are worked on at once. Defaults to 64.
	Concurrency int `jsonschema:"minimum=1,maximum=10000,default=64" yaml:"concurrency"`
	// CommitInterval is how long finished results wait for others before their transaction begins. Defaults to 10ms.
	CommitInterval Duration `jsonschema:"default=10ms" least:"0s" most:"1m" yaml:"commit_interval"`
	// TransactionTimeout is after what time the broker gives up a transaction that nobody ends. Only finished work is inside, so it is short. Defaults to 10s.
	TransactionTimeout Duration `jsonschema:"default=10s" least:"1s" most:"15m" yaml:"transaction_timeout"`
	// SessionTimeout is after what time without a sign of life the group gives the partitions to others. Defaults to 45s.
	SessionTimeout Duration `jsonschema:"default=45s" least:"1s" most:"30m" yaml:"session_timeout"`
	// MaxHeldRecords is how many records may wait in memory, over all partitions. Defaults to 20000.
	MaxHeldRecords int `jsonschema:"minimum=1,maximum=100000000,default=20000" yaml:"max_held_records"`
	// MaxHeldBytes is how many bytes of records, decompressed, may wait in memory, over all partitions. Defaults to 67108864 (64 MiB).
	MaxHeldBytes int `jsonschema:"minimum=1024,default=67108864" yaml:"max_held_bytes"`
	// HandlerTimeout is how long one attempt at one record may take. Defaults to 60s.
	HandlerTimeout Duration `jsonschema:"default=60s" least:"1ms" most:"1h" yaml:"handler_timeout"`
	// ShutdownTimeout is within what time after SIGTERM the process ends, whatever hangs; attempts that run have about half of it to finish. Defaults to 30s.
	ShutdownTimeout Duration `jsonschema:"default=30s" least:"2s" most:"1h" yaml:"shutdown_timeout"`
}

// Governance says which marks about the use of its content a record carries, and which of them forbid to process it
// (S3-1, S3-8). A record that breaks a rule is never tried again: it becomes a dead letter with the code governance_denied
// and the state escalated, and an entry of the governance ledger.
type Governance struct {
	// Care is where a record says which flags it has by the CARE principles, and what follows from them.
	Care Mark `yaml:"care"`
	// Sovereignty is where a record says whose the data are, and what follows from it.
	Sovereignty Mark `yaml:"sovereignty"`
	// Lineage is where a record says what it was made from, and what follows from it.
	Lineage Mark `yaml:"lineage"`
	// EscalateAfterAttempts writes an entry into the ledger when an attempt of this number at a record with CARE or sovereignty marks has failed transiently; the retries go on. 0 never does. Defaults to 0.
	EscalateAfterAttempts int `jsonschema:"minimum=0,maximum=1000,default=0" yaml:"escalate_after_attempts"`
	// Energy says how the energy of an attempt is computed for the log.
	Energy Energy `yaml:"energy"`
}

// Mark is one kind of mark. Several values stand in one text, separated by commas, or in a list.
type Mark struct {
	// Header is the producer's header that holds it. It is read before field. Defaults to none.
	Header string `jsonschema:"maxLength=200" yaml:"header"`
	// Field is the property of the feature that holds it, as properties.care. Defaults to none.
	Field string `jsonschema:"pattern=^(properties\\..+)?$" yaml:"field"`
	// Required makes a record without it a violation; a delete needs none. Defaults to false.
	Required bool `jsonschema:"default=false" yaml:"required"`
	// Allow lists the values that may be there; any other one is a violation. Defaults to all.
	Allow []string `jsonschema:"uniqueItems=true" yaml:"allow"`
	// Deny lists the values that may not. Defaults to none.
	Deny []string `jsonschema:"uniqueItems=true" yaml:"deny"`
}

// Read reports whether records are read for this mark.
func (m Mark) Read() bool { return m.Header != "" || m.Field != "" }

// On reports whether any mark is read. If so, there is a governance ledger.
func (g Governance) On() bool { return g.Care.Read() || g.Sovereignty.Read() || g.Lineage.Read() }

// Energy is what measured CPU seconds are multiplied with (S3-7).
type Energy struct {
	// WattsPerCPU is what one busy processor core takes, with its share of the machine. 0 leaves energy out of the log. Defaults to 0.
	WattsPerCPU float64 `jsonschema:"minimum=0,maximum=1000" yaml:"watts_per_cpu"`
	// GridGramsPerKWh is the carbon intensity of the electricity, in grams of CO2 equivalents per kilowatt-hour. Defaults to 0.
	GridGramsPerKWh float64 `jsonschema:"minimum=0,maximum=5000" yaml:"grid_grams_per_kwh"`
}

// Replayer says how the replayer works for this pipeline.
type Replayer struct {
	// Index says where dead letters are kept in SQL, for list, groups, stats and your own queries.
	Index ReplayerIndex `yaml:"index"`
	// Headers says which headers of a dead letter go back with it. Control headers (switchback-…) are no matter of these lists: the replayer rewrites those that are needed.
	Headers ReplayerHeaders `yaml:"headers"`
}

// ReplayerHeaders says which headers of a dead letter go back with it, as they are, in their order and with their repetitions. What other software wrote about the death of a letter stays behind.
type ReplayerHeaders struct {
	// Keep lists the headers that go back; a * stands for any text. A name without a * is kept even where the software that wrote the letter has headers of that name. Defaults to all.
	Keep []string `example:"[traceparent, ce_*]" jsonschema:"maxItems=100,uniqueItems=true,default=*" yaml:"keep"`
	// Strip lists the headers that stay behind even though keep has them; a * stands for any text. Defaults to none.
	Strip []string `example:"[x-debug-*]" jsonschema:"maxItems=100,uniqueItems=true" yaml:"strip,omitempty"`
}

// ReplayerIndex says where dead letters are kept in SQL: in a file, or in PostgreSQL. What is there can be rebuilt from Kafka at any time.
type ReplayerIndex struct {
	// File is an SQLite file; it is made when it is missing. Defaults to one for each DLQ in the user's cache folder.
	File string `yaml:"file"`
	// DSNEnv names the environment variable that holds the address of a PostgreSQL database, as postgres://user:password@host:5432/name; give this or file. Defaults to none.
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
