package config

import "strings"

// Sink is where features are written besides the output topic.
type Sink struct {
	// Key is what finds the row of a feature: record_key, the key of the output record; feature_id, the id of the mapped feature; or a path into a record key that is JSON or Avro, as Debezium and Kafka Connect write it: key.id, or key when the whole of it is one value. A table that has rows is taken to another key by consumer sink rekey. Defaults to record_key.
	Key SinkKey `example:"key.id" jsonschema:"default=record_key,pattern=^(record_key|feature_id|key([.][^. ]+)*)$,maxLength=255" yaml:"key"`
	// PostGIS is a table of PostgreSQL with PostGIS that shows the newest state of each feature. Defaults to none.
	PostGIS *PostGISSink `yaml:"postgis,omitempty"`
}

// SinkKey says what finds the row of a feature.
type SinkKey string

// The sink keys that are no path.
const (
	SinkKeyRecord  SinkKey = "record_key"
	SinkKeyFeature SinkKey = "feature_id"
)

// sinkKeyPath begins a path into the record key.
const sinkKeyPath = "key"

// Path gives the names that lead into a record key, none when the whole of it is meant; ok is false for a key that is no path.
func (k SinkKey) Path() (names []string, ok bool) {
	parts := strings.Split(string(k), ".")
	if parts[0] != sinkKeyPath {
		return nil, false
	}
	return parts[1:], true
}

// PostGISSink is one table, with a row for each key of the output (S0-6, S2-4).
type PostGISSink struct {
	// DSNEnv names the environment variable with the connection string of PostgreSQL. One of dsn_env and dsn_file is needed.
	DSNEnv string `echo:"no" example:"SWITCHBACK_POSTGIS_DSN" jsonschema:"pattern=^([A-Za-z_][A-Za-z0-9_]*)?$" yaml:"dsn_env,omitempty"`
	// DSNFile names a file with the connection string.
	DSNFile string `echo:"no" yaml:"dsn_file,omitempty"`
	// Table is the table that is written, as name or schema.name. It has to be there: consumer sink ddl prints a statement that makes it. Mandatory.
	Table string `example:"parcels" jsonschema:"required,pattern=^[A-Za-z_][A-Za-z0-9_]*([.][A-Za-z_][A-Za-z0-9_]*)?$,maxLength=127" yaml:"table"`
	// KeyColumn is the column with the key of the output record, its primary key. Defaults to id.
	KeyColumn string `jsonschema:"default=id,pattern=^[A-Za-z_][A-Za-z0-9_]*$,maxLength=63" yaml:"key_column"`
	// GeometryColumn is the column with the geometry. Defaults to geom.
	GeometryColumn string `jsonschema:"default=geom,pattern=^[A-Za-z_][A-Za-z0-9_]*$,maxLength=63" yaml:"geometry_column"`
	// RestColumn is a column of type jsonb that takes the properties that have no column of their own. Without one, such a property makes the record fail. Defaults to none.
	RestColumn string `example:"properties" jsonschema:"pattern=^([A-Za-z_][A-Za-z0-9_]*)?$,maxLength=63" yaml:"rest_column,omitempty"`
	// KeepColumns are columns that somebody else keeps: they are not written, and not emptied. Every other column takes the property of its name, or null. Defaults to none.
	KeepColumns []string `example:"[note]" jsonschema:"maxItems=1000,uniqueItems=true" yaml:"keep_columns,omitempty"`
	// Binary says how bytes for columns of type bytea are written as text: base64, base64_url_safe or hex, as the connector's binary.handling.mode has it; or bytes, its default, which is base64 too and refuses a text that could be hexadecimal digits as well. Digits behind \x are always read. Defaults to bytes.
	Binary BinaryText `jsonschema:"enum=bytes,enum=base64,enum=base64_url_safe,enum=hex,default=bytes" yaml:"binary"`
	// Timeout is how long one batch may take, from its begin to its commit. Defaults to 10s.
	Timeout Duration `jsonschema:"default=10s" least:"100ms" most:"1h" yaml:"timeout"`
	// MaxConnections is how many batches are written at once, each on a connection of its own. Defaults to 4.
	MaxConnections int `jsonschema:"minimum=1,maximum=1000,default=4" yaml:"max_connections"`
	// MaxBatch is how many records one batch has at the most. Defaults to 500.
	MaxBatch int `jsonschema:"minimum=1,maximum=10000,default=500" yaml:"max_batch"`
	// Breaker stops the writes while the database is down; records are then held and spend no attempts. Unlike that of a remote step, it is always there.
	Breaker Breaker `yaml:"breaker"`
}

// DSN reads the connection string from where it is kept.
func (s PostGISSink) DSN() (Secret, error) {
	return readSecret("sink.postgis.dsn", "connection string", s.DSNEnv, s.DSNFile)
}
