package config

// Source is the topic that features are read from.
type Source struct {
	// Topic is its name. Defaults to pipeline.id.
	Topic string `yaml:"topic" jsonschema:"pattern=^[a-zA-Z0-9._-]*$,maxLength=249"`
	// Group is the consumer group over the source and its tiers. Defaults to pipeline.id.
	Group string `yaml:"group" jsonschema:"maxLength=249"`
	// Format is how features are written. Defaults to geojson, the only one of this version.
	Format Format `yaml:"format" jsonschema:"default=geojson"`
	// NullKeys says what happens to a record without a key: reject makes it a dead letter, accept takes it. Kafka keeps no order per feature without keys. Defaults to reject.
	NullKeys NullKeyRule `yaml:"null_keys" jsonschema:"default=reject"`
	// MaxRecordBytes is the largest value that is processed; a larger one becomes a dead letter. Defaults to 8388608 (8 MiB).
	MaxRecordBytes int `yaml:"max_record_bytes" jsonschema:"minimum=1024,maximum=1073741824,default=8388608"`
}

// Output is the topic that transformed features are written to.
type Output struct {
	// Topic is its name. Defaults to source.topic with .out.
	Topic string `yaml:"topic" jsonschema:"pattern=^[a-zA-Z0-9._-]*$,maxLength=249"`
	// Format is how features are written. Defaults to geojson, the only one of this version.
	Format Format `yaml:"format" jsonschema:"default=geojson"`
}

// Topics names the topics that Switchback keeps for itself (architecture, section 4).
type Topics struct {
	// DLQ holds the dead letters. Defaults to source.topic with .dlq.
	DLQ string `yaml:"dlq" jsonschema:"pattern=^[a-zA-Z0-9._-]*$,maxLength=249"`
	// State holds the order of the keys that wait. Defaults to source.topic with .state.
	State string `yaml:"state" jsonschema:"pattern=^[a-zA-Z0-9._-]*$,maxLength=249"`
	// Ledger holds what was done inside the dedupe window. Defaults to source.topic with .ledger.
	Ledger string `yaml:"ledger" jsonschema:"pattern=^[a-zA-Z0-9._-]*$,maxLength=249"`
	// Audit holds the audit events. Defaults to source.topic with .audit.
	Audit string `yaml:"audit" jsonschema:"pattern=^[a-zA-Z0-9._-]*$,maxLength=249"`
	// DLQStatus holds the state of each dead letter. Defaults to source.topic with .dlq-status.
	DLQStatus string `yaml:"dlq_status" jsonschema:"pattern=^[a-zA-Z0-9._-]*$,maxLength=249"`
	// Control holds whether the pipeline runs or is held. Defaults to source.topic with .control.
	Control string `yaml:"control" jsonschema:"pattern=^[a-zA-Z0-9._-]*$,maxLength=249"`
	// TierPrefix comes before the delay in the name of a tier. Defaults to source.topic with .retry- (the tiers are then .retry-2s, .retry-8s, .retry-60s).
	TierPrefix string `yaml:"tier_prefix" jsonschema:"pattern=^[a-zA-Z0-9._-]*$,maxLength=249"`
	// Partitions is the number of partitions that `consumer topics ensure` creates; source, tiers, DLQ, state and ledger must all have the same. Defaults to 6.
	Partitions int `yaml:"partitions" jsonschema:"minimum=1,maximum=10000,default=6"`
	// ReplicationFactor is the number of copies that `consumer topics ensure` creates. Defaults to 1.
	ReplicationFactor int `yaml:"replication_factor" jsonschema:"minimum=1,maximum=100,default=1"`
}

// Tier returns the name of the retry topic with the given delay, such as features.retry-2s.
func (t Topics) Tier(delay Duration) string { return t.TierPrefix + delay.String() }

// TierTopics returns the names of the retry topics in the order of Pipeline.RetryPolicy.Tiers.
func (c Config) TierTopics() []string {
	out := make([]string, len(c.Pipeline.RetryPolicy.Tiers))
	for i, delay := range c.Pipeline.RetryPolicy.Tiers {
		out[i] = c.Topics.Tier(delay)
	}
	return out
}

// namedTopic is a topic and the key that names it.
type namedTopic struct{ path, name string }

// allTopics lists every topic of the pipeline, the tiers last.
func (c *Config) allTopics() []namedTopic {
	out := []namedTopic{
		{"source.topic", c.Source.Topic},
		{"output.topic", c.Output.Topic},
		{"topics.dlq", c.Topics.DLQ},
		{"topics.state", c.Topics.State},
		{"topics.ledger", c.Topics.Ledger},
		{"topics.audit", c.Topics.Audit},
		{"topics.dlq_status", c.Topics.DLQStatus},
		{"topics.control", c.Topics.Control},
	}
	for _, name := range c.TierTopics() {
		out = append(out, namedTopic{"topics.tier_prefix", name})
	}
	return out
}

// fillNames derives every name that was not given from pipeline.id and source.topic.
func (c *Config) fillNames() {
	orElse(&c.Source.Topic, c.Pipeline.ID)
	orElse(&c.Source.Group, c.Pipeline.ID)
	base := c.Source.Topic
	orElse(&c.Output.Topic, base+".out")
	orElse(&c.Topics.DLQ, base+".dlq")
	orElse(&c.Topics.State, base+".state")
	orElse(&c.Topics.Ledger, base+".ledger")
	orElse(&c.Topics.Audit, base+".audit")
	orElse(&c.Topics.DLQStatus, base+".dlq-status")
	orElse(&c.Topics.Control, base+".control")
	orElse(&c.Topics.TierPrefix, base+".retry-")
}

func orElse(name *string, derived string) {
	if *name == "" {
		*name = derived
	}
}
