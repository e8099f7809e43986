package config

// Sink is where features are written besides the output topic.
type Sink struct {
	// PostGIS is a table of PostgreSQL with PostGIS that shows the newest state of each feature. Defaults to none.
	PostGIS *PostGISSink `yaml:"postgis,omitempty"`
}

// PostGISSink is one table, with a row for each key of the output (S0-6, S2-4).
type PostGISSink struct {
	// DSNEnv names the environment variable with the connection string of PostgreSQL. One of dsn_env and dsn_file is needed.
	DSNEnv string `echo:"no" example:"SWITCHBACK_POSTGIS_DSN" yaml:"dsn_env,omitempty"`
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
