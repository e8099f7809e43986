package config

import (
	"fmt"
	"os"
)

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

// Place gives where the index is: a file, the address of a database, or "" for the default. The
// error names the variable that is empty.
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
