package config

import (
	"fmt"
	"strings"

	"github.com/switchback-geo/switchback/pkg/envelope"
)

// Sink configures the table that features are written to, in addition to the output topic.
type Sink struct {
	// Key selects the value that identifies the row of a feature. record_key is the key of the output record. feature_id is the id of the mapped feature. A path such as key.id selects a field of a JSON or Avro record key, as written by Debezium and Kafka Connect. The path key selects a whole key that is one value. consumer sink rekey changes the key of a table that has rows. Defaults to record_key.
	Key SinkKey `example:"key.id" jsonschema:"default=record_key,pattern=^(record_key|feature_id|key([.][^. ]+)*)$,maxLength=255" yaml:"key"`
	// PostGIS is a PostgreSQL table with PostGIS that holds the newest state of each feature. Defaults to none.
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

// PostGISSink is a table with one row for each key of the output (S0-6, S2-4).
type PostGISSink struct {
	// DSNEnv names the environment variable with the PostgreSQL connection string. One of dsn_env and dsn_file is needed.
	DSNEnv string `echo:"no" example:"SWITCHBACK_POSTGIS_DSN" jsonschema:"pattern=^([A-Za-z_][A-Za-z0-9_]*)?$" yaml:"dsn_env,omitempty"`
	// DSNFile names a file with the connection string.
	DSNFile string `echo:"no" yaml:"dsn_file,omitempty"`
	// Table is the name of the table, as name or schema.name. The table must exist: consumer sink ddl prints the statement that creates it. Mandatory.
	Table string `example:"parcels" jsonschema:"required,pattern=^[A-Za-z_][A-Za-z0-9_]*([.][A-Za-z_][A-Za-z0-9_]*)?$,maxLength=127" yaml:"table"`
	// KeyColumn is the column with the key of the output record, its primary key. Defaults to id.
	KeyColumn string `jsonschema:"default=id,pattern=^[A-Za-z_][A-Za-z0-9_]*$,maxLength=63" yaml:"key_column"`
	// GeometryColumn is the column with the geometry. Defaults to geom.
	GeometryColumn string `jsonschema:"default=geom,pattern=^[A-Za-z_][A-Za-z0-9_]*$,maxLength=63" yaml:"geometry_column"`
	// RestColumn is a column of type jsonb for the properties without a column of their own. Without it, such a property makes the record fail. Defaults to none.
	RestColumn string `example:"properties" jsonschema:"pattern=^([A-Za-z_][A-Za-z0-9_]*)?$,maxLength=63" yaml:"rest_column,omitempty"`
	// KeepColumns lists columns that other software maintains: the sink neither writes nor clears them. Every other column takes the property of its name, or null. Defaults to none.
	KeepColumns []string `example:"[note]" jsonschema:"maxItems=1000,uniqueItems=true" yaml:"keep_columns,omitempty"`
	// Binary is the text encoding of bytes for columns of type bytea. base64, base64_url_safe and hex correspond to binary.handling.mode of the connector. bytes, the mode's default, is base64 too, but refuses a text that could also be hexadecimal digits. Digits after \x are always accepted. Defaults to bytes.
	Binary BinaryText `jsonschema:"enum=bytes,enum=base64,enum=base64_url_safe,enum=hex,default=bytes" yaml:"binary"`
	// Timeout is the longest time of one batch, from its start to its commit. Defaults to 10s.
	Timeout Duration `jsonschema:"default=10s" least:"100ms" most:"1h" yaml:"timeout"`
	// MaxConnections is the largest number of batches written at once, each on its own connection. Defaults to 4.
	MaxConnections int `jsonschema:"minimum=1,maximum=1000,default=4" yaml:"max_connections"`
	// MaxBatch is the largest number of records in one batch. Defaults to 500.
	MaxBatch int `jsonschema:"minimum=1,maximum=10000,default=500" yaml:"max_batch"`
	// Breaker stops the writes while the database is down. Records are then deferred and spend no attempts. Unlike the breaker of an enrichment step, it is always on.
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
	if c.usable(path+".table") && (len(table) > mostTable || len(schema) > mostName) {
		c.fault(path+".table", fmt.Sprintf("%s is too long: PostgreSQL keeps %d characters of a name, and the guard's is that of the table and %s", show(s.Table), mostName, GuardSuffix),
			fmt.Sprintf("choose a name of at most %d characters, in a schema of at most %d", mostTable, mostName))
	}
	c.columns(path, s)
	if c.cfg.Source.NullKeys == NullKeysAccept && c.usable("source.null_keys") {
		c.fault("source.null_keys", "a row of sink.postgis is found by the key of its record, so every record needs one", "set it to reject, or remove sink")
	}
}

// sinkKey refuses a key that identifies no row, or the same row for several features.
func (c checker) sinkKey(table bool) {
	const path = "sink.key"
	_, into := c.cfg.Sink.Key.Path()
	switch {
	case !c.usable(path):
	case !table && c.cfg.Sink.Key != SinkKeyRecord:
		c.fault(path, "has no effect without sink.postgis", "add sink.postgis, or remove it")
	case into && c.usable("source") && c.cfg.Source.Split == envelope.SplitFeatures:
		c.fault(path, "all features of a collection would share one row, that of the record key", "set feature_id")
	}
}

// columns refuses two uses of one column.
func (c checker) columns(path string, s *PostGISSink) {
	if !c.usable(path+".key_column", path+".geometry_column", path+".rest_column") {
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
		if at := entry(path+".keep_columns", i); uses[kept] != "" && c.usable(at) {
			c.fault(at, show(kept)+" is the "+uses[kept]+", which is always written", "remove it")
		}
	}
}
