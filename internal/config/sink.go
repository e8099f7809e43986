package config

import (
	"fmt"
	"strings"

	"github.com/switchback-geo/switchback/pkg/envelope"
)

// Sink is where features are written besides the output topic.
type Sink struct {
	// Key is what finds the row of a feature: record_key, the key of the output record; feature_id, the id of the mapped feature; or a path into a record key that is JSON or Avro, as Debezium and Kafka Connect write it: key.id, or key when the whole of it is one value. A table that has rows is taken to another key by consumer sink rekey. Defaults to record_key.
	Key SinkKey `example:"key.id" jsonschema:"default=record_key,pattern=^(record_key|feature_id|key([.][^. ]+)*)$,maxLength=255" yaml:"key"`
	// PostGIS is a table of PostgreSQL with PostGIS that shows the newest state of each feature. Defaults to none.
	PostGIS *PostGISSink `yaml:"postgis,omitempty"`
}

// SinkKey selects the key that identifies the row of a feature.
type SinkKey string

// The sink keys that are not paths.
const (
	SinkKeyRecord  SinkKey = "record_key"
	SinkKeyFeature SinkKey = "feature_id"
)

// sinkKeyPath is the first element of a path into the record key.
const sinkKeyPath = "key"

// Path returns the names in a path into the record key, or no names for the whole key. ok is false if k is not a path.
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

// DSN reads the connection string from the environment variable or the file.
func (s PostGISSink) DSN() (Secret, error) {
	return ReadSecret("sink.postgis.dsn", "connection string", s.DSNEnv, s.DSNFile)
}

// mostName is the longest name that PostgreSQL keeps. It truncates longer names without an error.
const mostName = 63

// GuardSuffix is appended to the name of the sink's table to form the name of the guard.
const GuardSuffix = "_switchback"

// mostTable leaves room for the suffix of the guard. PostgreSQL would truncate a longer guard name to the name of
// another table, or of the table itself.
const mostTable = mostName - len(GuardSuffix)

// sink checks the keys of the PostGIS sink.
func (c checker) sink() {
	const path = "sink.postgis"
	s := c.cfg.Sink.PostGIS
	c.sinkKey(s != nil)
	if s == nil {
		return
	}
	c.dsn(path, s.DSNEnv, s.DSNFile)
	c.breaker(path, &s.Breaker, s.Timeout, s.MaxConnections)
	c.within(path+".timeout", s.Timeout)
	schema, table, qualified := strings.Cut(s.Table, ".")
	if !qualified {
		schema, table = "", s.Table
	}
	if c.sound(path+".table") && (len(table) > mostTable || len(schema) > mostName) {
		c.fault(path+".table", fmt.Sprintf("%s is too long: PostgreSQL keeps %d characters of a name, and the guard's is that of the table and %s", show(s.Table), mostName, GuardSuffix),
			fmt.Sprintf("choose a name of at most %d characters, in a schema of at most %d", mostTable, mostName))
	}
	c.columns(path, s)
	if c.cfg.Source.NullKeys == NullKeysAccept && c.sound("source.null_keys") {
		c.fault("source.null_keys", "a row of sink.postgis is found by the key of its record, so every record needs one", "set it to reject, or remove sink")
	}
}

// sinkKey refuses a key that identifies no row, or the same row for several features.
func (c checker) sinkKey(table bool) {
	const path = "sink.key"
	_, into := c.cfg.Sink.Key.Path()
	switch {
	case !c.sound(path):
	case !table && c.cfg.Sink.Key != SinkKeyRecord:
		c.fault(path, "has no effect without sink.postgis", "add sink.postgis, or remove it")
	case into && c.sound("source") && c.cfg.Source.Split == envelope.SplitFeatures:
		c.fault(path, "all features of a collection would have one row, that of the record key", "set feature_id")
	}
}

// columns refuses two uses of one column.
func (c checker) columns(path string, s *PostGISSink) {
	if !c.sound(path+".key_column", path+".geometry_column", path+".rest_column") {
		return
	}
	uses := map[string]string{s.KeyColumn: "key_column"}
	for _, column := range [][2]string{{"geometry_column", s.GeometryColumn}, {"rest_column", s.RestColumn}} {
		if first := uses[column[1]]; first != "" {
			c.fault(path+"."+column[0], show(column[1])+" is already the "+first, "name another column")
			return
		}
		if column[1] != "" {
			uses[column[1]] = column[0]
		}
	}
	for i, kept := range s.KeepColumns {
		if at := entry(path+".keep_columns", i); uses[kept] != "" && c.sound(at) {
			c.fault(at, show(kept)+" is the "+uses[kept]+", which is always written", "remove it")
		}
	}
}
