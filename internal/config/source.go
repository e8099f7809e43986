package config

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/switchback-geo/switchback/pkg/envelope"
)

// Source is the topic that features are read from.
type Source struct {
	// Topic is the name of the topic. Defaults to pipeline.id.
	Topic string `jsonschema:"pattern=^[a-zA-Z0-9._-]*$,maxLength=249" yaml:"topic"`
	// Group is the consumer group of the source and its tiers. Defaults to pipeline.id.
	Group string `jsonschema:"maxLength=249" yaml:"group"`
	// Format is the format of record values. geojson is RFC 7946. jsonfg is OGC JSON-FG. cloudevents is CloudEvents 1.0, binary or structured. avro is the Confluent wire format or single-object encoding. debezium is change events of a table. auto selects the format by the headers of each record. Defaults to geojson.
	Format envelope.Format `jsonschema:"enum=auto,enum=geojson,enum=jsonfg,enum=cloudevents,enum=avro,enum=debezium,default=geojson" yaml:"format"`
	// Split sets the treatment of a FeatureCollection of GeoJSON or JSON-FG. none refuses it. features makes one output of each feature, keyed by its id. Defaults to none.
	Split envelope.Split `jsonschema:"enum=none,enum=features,default=none" yaml:"split"`
	// Collections sets the effect of a bad feature on the other features of a split collection. per_feature delivers, retries or dead-letters each feature by itself, up to 10000 per collection. all_or_nothing treats the collection as one record, with one retry and one dead letter. Defaults to per_feature.
	Collections Collections `jsonschema:"enum=per_feature,enum=all_or_nothing,default=per_feature" yaml:"collections"`
	// MaxFeatures is the largest number of features in a collection; a larger collection becomes a dead letter. Defaults to 10000.
	MaxFeatures int `jsonschema:"minimum=1,maximum=100000,default=10000" yaml:"max_features"`
	// Row configures how a row of Avro or Debezium becomes a feature.
	Row SourceRow `yaml:"row"`
	// JSONFG configures how JSON-FG is read.
	JSONFG SourceJSONFG `yaml:"jsonfg"`
	// CloudEvents configures the content of CloudEvents.
	CloudEvents SourceCloudEvents `yaml:"cloudevents"`
	// Debezium configures the form of change events.
	Debezium SourceDebezium `yaml:"debezium"`
	// Avro lists sources of schemas in addition to the registry.
	Avro SourceAvro `yaml:"avro"`
	// Version is the property that orders the events of one key, such as properties.updated. It is an RFC 3339 time, Unix seconds or milliseconds, or a whole number; greater is newer. Defaults to none: the source offset orders the events.
	Version string `jsonschema:"pattern=^(properties\\..+)?$" yaml:"version"`
	// VersionForm is the form of the version. any is an RFC 3339 time or a whole number that is not a time. rfc3339 is an RFC 3339 time. unix_s, unix_ms, unix_us and unix_ns are whole numbers since 1970. number is a revision. A version of another form makes the record a dead letter. Defaults to any.
	VersionForm VersionForm `jsonschema:"enum=any,enum=rfc3339,enum=unix_s,enum=unix_ms,enum=unix_us,enum=unix_ns,enum=number,default=any" yaml:"version_form"`
	// MaxVersionAhead is how far a version that is a time may be ahead of the consumer's clock. A record further ahead becomes a dead letter (version_in_future), so that it does not supersede every event of its key until then. It applies to RFC 3339 times, and to numbers with a version_form of unix. Defaults to 1h.
	MaxVersionAhead Duration `jsonschema:"default=1h" least:"1s" most:"876000h" yaml:"max_version_ahead"`
	// NullKeys sets the treatment of a record without a key: reject makes it a dead letter, accept processes it. Kafka keeps no order per feature without keys. Defaults to reject.
	NullKeys NullKeyRule `jsonschema:"enum=reject,enum=accept,default=reject" yaml:"null_keys"`
	// MaxRecordBytes is the size of the largest value that is processed; a record with a larger one becomes a dead letter. Defaults to 8388608 (8 MiB).
	MaxRecordBytes int `jsonschema:"minimum=1024,maximum=67108864,default=8388608" yaml:"max_record_bytes"`
}

// Output is the topic that transformed features are written to.
type Output struct {
	// Topic is the name of the topic. Defaults to source.topic with .out.
	Topic string `jsonschema:"pattern=^[a-zA-Z0-9._-]*$,maxLength=249" yaml:"topic"`
	// Format is the format of the output: geojson (RFC 7946), or avro, the published feature event with the same content. Defaults to geojson.
	Format OutputFormat `jsonschema:"enum=geojson,enum=avro,default=geojson" yaml:"format"`
	// Avro configures the Avro output.
	Avro OutputAvroKeys `yaml:"avro"`
}

// Topics sets the names and the size of the topics that belong to Switchback (architecture, section 4).
type Topics struct {
	// DLQ holds the dead letters. Defaults to source.topic with .dlq.
	DLQ string `jsonschema:"pattern=^[a-zA-Z0-9._-]*$,maxLength=249" yaml:"dlq"`
	// State holds the order of the keys whose records wait. Defaults to source.topic with .state.
	State string `jsonschema:"pattern=^[a-zA-Z0-9._-]*$,maxLength=249" yaml:"state"`
	// Ledger holds the latest content of each key within the dedupe window. Defaults to source.topic with .ledger.
	Ledger string `jsonschema:"pattern=^[a-zA-Z0-9._-]*$,maxLength=249" yaml:"ledger"`
	// Audit holds the audit events. Defaults to source.topic with .audit.
	Audit string `jsonschema:"pattern=^[a-zA-Z0-9._-]*$,maxLength=249" yaml:"audit"`
	// DLQStatus holds the state of each dead letter. Defaults to source.topic with .dlq-status.
	DLQStatus string `jsonschema:"pattern=^[a-zA-Z0-9._-]*$,maxLength=249" yaml:"dlq_status"`
	// Control holds the state of the pipeline: running or paused. Defaults to source.topic with .control.
	Control string `jsonschema:"pattern=^[a-zA-Z0-9._-]*$,maxLength=249" yaml:"control"`
	// Governance holds the head of the governance ledger of each partition, if governance marks are read. Defaults to source.topic with .governance.
	Governance string `jsonschema:"pattern=^[a-zA-Z0-9._-]*$,maxLength=249" yaml:"governance"`
	// TierPrefix precedes the delay in the name of a tier. Defaults to source.topic with .retry- (the tiers are then .retry-2s, .retry-8s, .retry-60s).
	TierPrefix string `jsonschema:"pattern=^[a-zA-Z0-9._-]*$,maxLength=249" yaml:"tier_prefix"`
	// Partitions is the number of partitions that `consumer topics ensure` creates. The source, tiers, DLQ, state and ledger must have the same number. Defaults to 6.
	Partitions int `jsonschema:"minimum=1,maximum=10000,default=6" yaml:"partitions"`
	// ReplicationFactor is the number of replicas that `consumer topics ensure` creates. Defaults to 1.
	ReplicationFactor int `jsonschema:"minimum=1,maximum=100,default=1" yaml:"replication_factor"`
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

// allTopics returns every topic of the pipeline, with the tiers last.
func (c Config) allTopics() []namedTopic {
	out := []namedTopic{{"source.topic", c.Source.Topic}, {"output.topic", c.Output.Topic}, {"topics.dlq", c.Topics.DLQ}}
	for _, kept := range c.Topics.kept() {
		out = append(out, namedTopic{"topics." + kept.key, *kept.name})
	}
	for _, name := range c.TierTopics() {
		out = append(out, namedTopic{"topics.tier_prefix", name})
	}
	return out
}

// OwnTopic returns the key of the pipeline file that makes a topic the pipeline's own, or "" for any other topic. The
// pipeline also owns retry topics with other delays, and the topics of its reference sets.
func (c Config) OwnTopic(name string) string {
	for _, own := range c.allTopics() {
		if own.name == name {
			return own.path
		}
	}
	if delay, ok := strings.CutPrefix(name, c.Topics.TierPrefix); ok && isDelay(delay) {
		return "topics.tier_prefix"
	}
	for _, set := range c.Transform.References {
		if set.Topic == name {
			return "transform.references." + set.Name + ".topic"
		}
	}
	return ""
}

// KeptBeside returns the source topic of the pipeline that owns a topic with a default name. It returns "" for any other
// name.
func KeptBeside(name string) (source string) {
	if i := strings.LastIndex(name, tierSuffix); i > 0 && isDelay(name[i+len(tierSuffix):]) {
		return name[:i]
	}
	for _, kept := range new(Topics).kept() {
		if source, ok := strings.CutSuffix(name, kept.suffix); ok {
			return source
		}
	}
	return ""
}

// isDelay reports whether the text after a tier prefix is a delay.
func isDelay(text string) bool {
	d, err := time.ParseDuration(text)
	return err == nil && d > 0
}

// tierSuffix is appended to the name of the source to form the default tier prefix.
const tierSuffix = ".retry-"

// keptTopic is a topic that only the pipeline writes: its key, the suffix of its default name, and its name.
type keptTopic struct {
	key, suffix string
	name        *string
}

// kept returns the topics that only the pipeline writes, without the tiers. The DLQ is not among them, because other
// pipelines may send dead letters to it.
func (t *Topics) kept() []keptTopic {
	return []keptTopic{
		{"state", ".state", &t.State},
		{"ledger", ".ledger", &t.Ledger},
		{"audit", ".audit", &t.Audit},
		{"dlq_status", ".dlq-status", &t.DLQStatus},
		{"control", ".control", &t.Control},
		{"governance", ".governance", &t.Governance},
	}
}

// fillNames derives every name that was not written from pipeline.id and source.topic.
func fillNames(c *Config) {
	c.Source.Topic = cmp.Or(c.Source.Topic, c.Pipeline.ID)
	c.Source.Group = cmp.Or(c.Source.Group, c.Pipeline.ID)
	base := c.Source.Topic
	c.Output.Topic = cmp.Or(c.Output.Topic, base+".out")
	c.Output.Avro.Subject = cmp.Or(c.Output.Avro.Subject, c.Output.Topic+"-value")
	c.Topics.DLQ = cmp.Or(c.Topics.DLQ, base+".dlq")
	for _, kept := range c.Topics.kept() {
		*kept.name = cmp.Or(*kept.name, base+kept.suffix)
	}
	c.Topics.TierPrefix = cmp.Or(c.Topics.TierPrefix, base+tierSuffix)
}

// topicText matches the characters that Kafka allows in a topic name.
var topicText = regexp.MustCompile(`^[a-zA-Z0-9._-]+$`)

// topicProblem returns the error in a topic name and the fix, or "".
func topicProblem(name string) (problem, fix string) {
	const limit = 249
	switch {
	case !topicText.MatchString(name):
		return show(name) + " has a character that Kafka does not allow in topic names", "use letters, digits, dot, underscore and hyphen"
	case name == "." || name == "..":
		return show(name) + " is not a topic name", "write a name"
	case strings.HasPrefix(name, "__"):
		return show(name) + " has a name that Kafka reserves for its internal topics", "write a name that does not begin with two underscores"
	case len(name) > limit:
		return fmt.Sprintf("the topic name %s has %d characters, and Kafka allows %d", show(name), len(name), limit), "shorten it"
	}
	return "", ""
}

// SourceRow configures how a row becomes a feature. The row is an Avro record, or a row of a table that Debezium sends.
type SourceRow struct {
	// ID is the column of the id: its name, or names joined by dots. Defaults to id, if the row has one.
	ID string `yaml:"id"`
	// Geometry is the column of the geometry. It must exist and may be null. Defaults to geometry.
	Geometry string `jsonschema:"minLength=1,default=geometry" yaml:"geometry"`
	// GeometryFormat is the format of the geometry. wkb and ewkb are bytes; all others are text. Defaults to struct for Debezium, else to geojson.
	GeometryFormat envelope.GeometryFormat `jsonschema:"enum=geojson,enum=struct,enum=wkb,enum=wkb_hex,enum=wkb_base64,enum=ewkb,enum=ewkb_hex,enum=ewkb_base64,enum=wkt,enum=ewkt,default=geojson" yaml:"geometry_format"`
	// Properties is a column with all properties. Defaults to none: every column except id and geometry is a property.
	Properties string `yaml:"properties"`
	// DropMeasures removes the M ordinates of a geometry instead of refusing it. Defaults to false.
	DropMeasures bool `jsonschema:"default=false" yaml:"drop_measures"`
}

// SourceJSONFG configures how JSON-FG is read.
type SourceJSONFG struct {
	// Unsupported sets the treatment of a place that GeoJSON cannot express. reject refuses the feature. geometry uses the geometry member of the same feature instead. Defaults to reject.
	Unsupported envelope.Unsupported `jsonschema:"enum=reject,enum=geometry,default=reject" yaml:"unsupported"`
}

// SourceCloudEvents configures the content of CloudEvents.
type SourceCloudEvents struct {
	// Data is the format of the data of an event; auto selects it by the data content type. Defaults to auto.
	Data envelope.Format `jsonschema:"enum=auto,enum=geojson,enum=jsonfg,enum=avro,enum=debezium,default=auto" yaml:"data"`
}

// SourceDebezium configures the form of change events.
type SourceDebezium struct {
	// Serialization is the serialization of change events: json, or avro. json is the output of Kafka Connect's JSON converter, with or without schema. Defaults to json.
	Serialization envelope.Serialization `jsonschema:"enum=json,enum=avro,default=json" yaml:"serialization"`
	// Unwrapped declares that Debezium's ExtractNewRecordState has removed the envelope of the row. Defaults to false.
	Unwrapped bool `jsonschema:"default=false" yaml:"unwrapped"`
	// UnavailableValue is the connector's unavailable.value.placeholder: a text, or bytes after hex:. A row with it becomes a dead letter, because the database did not send the column. Defaults to __debezium_unavailable_value.
	UnavailableValue string `jsonschema:"minLength=1,maxLength=1000,default=__debezium_unavailable_value" yaml:"unavailable_value"`
}

// SourceAvro lists sources of schemas in addition to the registry.
type SourceAvro struct {
	// Schemas lists files with Avro schemas for single-object encoding. A record selects its schema by fingerprint. The published feature event is always known. Defaults to none.
	Schemas []string `jsonschema:"uniqueItems=true" yaml:"schemas"`
}

// OutputAvroKeys configures the Avro output.
type OutputAvroKeys struct {
	// Schema is the published schema of the output: a file of schemas/ without its extension. Defaults to feature-event.v1, the only one of this version.
	Schema string `jsonschema:"enum=feature-event.v1,default=feature-event.v1" yaml:"schema"`
	// Framing is the prefix of a datum. confluent is the id of the schema in the registry. single_object is the schema's fingerprint, which needs no registry. Defaults to confluent.
	Framing AvroFraming `jsonschema:"enum=confluent,enum=single_object,default=confluent" yaml:"framing"`
	// Subject is the subject of the schema in the registry. Defaults to output.topic with -value.
	Subject string `jsonschema:"maxLength=255" yaml:"subject"`
	// Register registers the schema if the registry does not have it; false only looks it up. Defaults to true.
	Register bool `jsonschema:"default=true" yaml:"register"`
}

// reads reports whether the source can contain records of a format, directly or as the data of a CloudEvent.
func (s Source) reads(format envelope.Format) bool {
	return s.Format == format || s.Format == envelope.CloudEvents && s.CloudEvents.Data == format
}

// mayReadAvro reports whether a record may be Avro, because the file selects Avro or leaves the format to the record.
func (s Source) mayReadAvro() bool {
	byTheRecord := s.Format == envelope.Auto || s.Format == envelope.CloudEvents && s.CloudEvents.Data == envelope.Auto
	return byTheRecord || s.reads(envelope.Avro) || s.reads(envelope.Debezium) && s.Debezium.Serialization == envelope.SerializationAvro
}

// mayReadJSONFG reports whether a record may be JSON-FG, because the file selects JSON-FG or leaves the format to the
// record.
func (s Source) mayReadJSONFG() bool {
	return s.reads(envelope.JSONFG) || s.Format == envelope.Auto || s.Format == envelope.CloudEvents && s.CloudEvents.Data == envelope.Auto
}

// fillFormat derives the geometry format of rows.
func fillFormat(c *Config) {
	if c.Source.reads(envelope.Debezium) && !c.origins.explicit("source.row.geometry_format") {
		c.Source.Row.GeometryFormat = envelope.GeometryStruct
	}
}

// Collections is the effect of one bad feature on the other features of a split collection.
type Collections string

// The rules for split collections.
const (
	CollectionsPerFeature   Collections = "per_feature"    // each feature is delivered, retried and dead-lettered separately
	CollectionsAllOrNothing Collections = "all_or_nothing" // the collection is delivered, retried or dead-lettered as one record
)

// SeparateFeatures reports whether each feature of a collection is delivered, retried and dead-lettered separately.
func (s *Source) SeparateFeatures() bool {
	return s.Split == envelope.SplitFeatures && s.Collections == CollectionsPerFeature
}
