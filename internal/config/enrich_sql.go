package config

// SQLLookup is one query for one feature, in a transaction of its own that only reads.
type SQLLookup struct {
	// DSNEnv names the environment variable with the connection string of PostgreSQL. One of dsn_env and dsn_file is needed.
	DSNEnv string `echo:"no" example:"PLACES_DSN" jsonschema:"pattern=^([A-Za-z_][A-Za-z0-9_]*)?$" yaml:"dsn_env,omitempty"`
	// DSNFile names a file with the connection string.
	DSNFile string `echo:"no" yaml:"dsn_file,omitempty"`
	// Query is one select, whose parameters are $1, $2 and so on. Values never go into its text. Mandatory.
	Query string `example:"\"select name from places where id = $1\"" jsonschema:"required,minLength=1" yaml:"query"`
	// Args are the values of $1, $2 and so on: id, properties.name, or geometry, which is given as GeoJSON. A feature that lacks one fails. Defaults to none.
	Args []string `example:"[properties.parcel_id]" jsonschema:"maxItems=100" yaml:"args,omitempty"`
	// Timeout is how long one query may take, from its begin to its last row. Defaults to 2s.
	Timeout Duration `jsonschema:"default=2s" least:"10ms" most:"1h" yaml:"timeout"`
	// MaxConnections is how many queries run at once, each on a connection of its own. Defaults to 4.
	MaxConnections int `jsonschema:"minimum=1,maximum=1000,default=4" yaml:"max_connections"`
	// MaxRows is how many rows an answer may have; one more makes it a failure of the record. With 1 the answer is the row, with more it is a list of rows. Defaults to 1.
	MaxRows int `jsonschema:"minimum=1,maximum=10000,default=1" yaml:"max_rows"`
	// MaxResponseBytes is the largest answer that is read, as JSON. Defaults to 1048576 (1 MiB).
	MaxResponseBytes int `jsonschema:"minimum=1,maximum=1073741824,default=1048576" yaml:"max_response_bytes"`
	// Rate is how many queries this instance sends in a second. Defaults to no limit.
	Rate *Rate `yaml:"rate,omitempty"`
	// Cache keeps answers in memory and lets records that ask the same at the same time share one query. Write {} for the defaults. Defaults to none.
	Cache *Cache `yaml:"cache,omitempty"`
	// Breaker stops the queries while the database is down; records that need it are then held and spend no attempts. Write {} for the defaults. Defaults to none.
	Breaker *Breaker `yaml:"breaker,omitempty"`
}

// DSN reads the connection string from where it is kept. path names the keys in errors.
func (s SQLLookup) DSN(path string) (Secret, error) {
	return readSecret(path+".dsn", "connection string", s.DSNEnv, s.DSNFile)
}
