package config

import (
	"fmt"

	"github.com/goccy/go-yaml"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// Config is one pipeline file after [Load]: every default is filled in and every rule has been
// checked. It holds no secret, so it may be printed, logged and shown.
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

	origins  *origins     // where each value was written; see Position
	uncapped *RetryPolicy // as the file has it, when CI lowered the attempts; see CappedByCI
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

// YAML returns the configuration in the form of its file, with every default written out. What
// it prints loads again and gives an equal configuration.
func (c Config) YAML() ([]byte, error) {
	out, err := yaml.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("write configuration as YAML: %w", err)
	}
	return out, nil
}

// MarshalJSON writes the configuration with the same keys as its YAML file.
func (c Config) MarshalJSON() ([]byte, error) {
	text, err := c.YAML()
	if err != nil {
		return nil, err
	}
	out, err := yaml.YAMLToJSON(text)
	if err != nil {
		return nil, fmt.Errorf("write configuration as JSON: %w", err)
	}
	return out, nil
}
